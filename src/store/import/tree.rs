//! Trees of messages: which way leads from the first to the newest one. Knows ids, parents and times; knows no format.

use std::collections::{BTreeMap, HashMap, HashSet};

/// One message of a tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'n> {
    pub id: &'n str,
    /// Empty, or the id of no message: the message is a root.
    pub parent: &'n str,
    /// Seconds; what has none is older than all that have some.
    pub time: Option<i64>,
}

/// One tree, by places in the list of nodes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tree {
    /// From the root to the newest leaf.
    pub path: Vec<usize>,
    /// All others.
    pub beside: Vec<usize>,
}

/// The trees in the order in which they begin. Of two leaves of the same time the later one in the list is the newest.
/// A ring of parents is cut open.
pub(super) fn trees(nodes: &[Node<'_>]) -> Vec<Tree> {
    let mut places = HashMap::new();
    for (place, node) in nodes.iter().enumerate().filter(|(_, node)| !node.id.is_empty()) {
        places.entry(node.id).or_insert(place);
    }
    let mut parents: Vec<Option<usize>> = nodes.iter().map(|node| places.get(node.parent).copied()).collect();
    let roots = roots(&mut parents);
    let with_children: HashSet<usize> = parents.iter().flatten().copied().collect();
    let mut newest: BTreeMap<usize, (Option<i64>, usize)> = BTreeMap::new();
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, (root, node)) in roots.iter().zip(nodes).enumerate() {
        members.entry(*root).or_default().push(place);
        if with_children.contains(&place) {
            continue;
        }
        let best = newest.entry(*root).or_insert((node.time, place));
        *best = (*best).max((node.time, place));
    }
    let tree = |(root, members): (usize, Vec<usize>)| {
        let mut path = Vec::new();
        let mut next = newest.get(&root).map(|(_, leaf)| *leaf);
        while let Some(place) = next {
            path.push(place);
            next = parents.get(place).copied().flatten();
        }
        path.reverse();
        let on: HashSet<usize> = path.iter().copied().collect();
        Tree { path, beside: members.into_iter().filter(|place| !on.contains(place)).collect() }
    };
    let mut trees: Vec<Tree> = members.into_iter().map(tree).collect();
    let first = |tree: &Tree| tree.path.iter().chain(&tree.beside).min().copied();
    trees.sort_by_key(first);
    trees
}

/// The root of every node; a parent that leads back to where the walk came from is taken away.
fn roots(parents: &mut [Option<usize>]) -> Vec<usize> {
    let mut roots: Vec<Option<usize>> = vec![None; parents.len()];
    for start in 0..parents.len() {
        let mut walk = HashSet::new();
        let mut at = start;
        let root = loop {
            if let Some(root) = roots.get(at).copied().flatten() {
                break root;
            }
            walk.insert(at);
            match parents.get(at).copied().flatten() {
                Some(parent) if !walk.contains(&parent) => at = parent,
                _ => {
                    if let Some(parent) = parents.get_mut(at) {
                        *parent = None;
                    }
                    break at;
                }
            }
        };
        for place in walk {
            if let Some(known) = roots.get_mut(place) {
                *known = Some(root);
            }
        }
    }
    roots.into_iter().enumerate().map(|(place, root)| root.unwrap_or(place)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node<'n>(id: &'n str, parent: &'n str, time: i64) -> Node<'n> {
        Node { id, parent, time: Some(time) }
    }

    #[test]
    fn the_newest_leaf_of_every_tree_leads_to_its_root() {
        let nodes = [
            node("a", "", 1),
            node("b", "a", 2),
            node("x", "gone", 9),
            node("c", "b", 3),
            node("d", "b", 5),
            node("e", "c", 4),
        ];
        let want = [Tree { path: vec![0, 1, 4], beside: vec![3, 5] }, Tree { path: vec![2], beside: vec![] }];
        assert_eq!(trees(&nodes), want);
    }

    #[test]
    fn equal_times_go_by_the_list_and_rings_are_cut() {
        let nodes = [node("a", "", 1), node("b", "a", 1), node("c", "a", 1)];
        assert_eq!(trees(&nodes), [Tree { path: vec![0, 2], beside: vec![1] }]);
        let ring = [node("a", "b", 1), node("b", "a", 2), node("me", "me", 3)];
        let found = trees(&ring);
        assert_eq!(found.iter().map(|tree| tree.path.len() + tree.beside.len()).collect::<Vec<_>>(), [2, 1]);
        assert!(trees(&[]).is_empty());
    }
}
