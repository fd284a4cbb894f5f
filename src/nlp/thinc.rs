//! Knows the layout of thinc's model files (nodes, attributes, arrays); must not know any network.

use super::error::NlpError;
use super::msgpack::{self, Value};

/// A model file opened for reading: its nodes in the order in which they were stored.
pub(super) struct ModelFile<'a> {
    file: &'a str,
    nodes: Vec<Node<'a>>,
}

struct Node<'a> {
    name: &'a str,
    attrs: Value<'a>,
    params: Value<'a>,
}

impl<'a> ModelFile<'a> {
    /// Reads `bytes`, the content of `file`.
    pub(super) fn parse(file: &'a str, bytes: &'a [u8]) -> Result<Self, NlpError> {
        let bad = |what: &str| NlpError::malformed(file, what);
        let top = msgpack::decode(bytes).map_err(|what| NlpError::malformed(file, what))?;
        let list =
            |key: &str| top.get(key).and_then(Value::as_array).ok_or_else(|| bad(&format!("there is no list `{key}`")));
        let (nodes, attrs, params) = (list("nodes")?, list("attrs")?, list("params")?);
        if nodes.len() != attrs.len() || nodes.len() != params.len() {
            return Err(bad("its lists differ in length"));
        }
        let nodes = nodes
            .iter()
            .zip(attrs)
            .zip(params)
            .map(|((node, attrs), params)| {
                let name = node.get("name").and_then(Value::as_str);
                Ok(Node {
                    name: name.ok_or_else(|| bad("a node has no name"))?,
                    attrs: attrs.clone(),
                    params: params.clone(),
                })
            })
            .collect::<Result<_, NlpError>>()?;
        Ok(Self { file, nodes })
    }

    /// An error about this file.
    pub(super) fn bad(&self, what: impl Into<String>) -> NlpError {
        NlpError::malformed(self.file, what)
    }

    fn node(&self, name: &str, nth: usize) -> Result<&Node<'a>, NlpError> {
        self.nodes
            .iter()
            .filter(|node| node.name == name)
            .nth(nth)
            .ok_or_else(|| self.bad(format!("there is no node `{name}` number {nth}")))
    }

    /// How many nodes carry `name`.
    pub(super) fn count(&self, name: &str) -> usize {
        self.nodes.iter().filter(|node| node.name == name).count()
    }

    /// The small integer stored as attribute `attr` of the `nth` node called `name`.
    pub(super) fn int_attr(&self, name: &str, nth: usize, attr: &str) -> Result<u64, NlpError> {
        let node = self.node(name, nth)?;
        node.attrs
            .get(attr)
            .and_then(Value::as_bin)
            .and_then(|blob| msgpack::decode(blob).ok()?.as_uint())
            .ok_or_else(|| self.bad(format!("node `{name}` {nth} has no integer `{attr}`")))
    }

    /// The array `param` of the `nth` node called `name`, whose shape must be `shape`; a zero in
    /// `shape` stands for any positive length. Returns the true shape and the values, row-major.
    pub(super) fn array(
        &self,
        name: &str,
        nth: usize,
        param: &str,
        shape: &[usize],
    ) -> Result<(Vec<usize>, Vec<f32>), NlpError> {
        let what = |problem: &str| self.bad(format!("array `{param}` of `{name}` {nth} {problem}"));
        let value = self.node(name, nth)?.params.get(param);
        let value = value.ok_or_else(|| what("is missing"))?;
        if value.get("type").and_then(Value::as_str) != Some("<f4") {
            return Err(what("is not of 32-bit floats"));
        }
        let dims: Option<Vec<usize>> = value
            .get("shape")
            .and_then(Value::as_array)
            .and_then(|dims| dims.iter().map(|dim| usize::try_from(dim.as_uint()?).ok()).collect());
        let dims = dims.ok_or_else(|| what("has no shape"))?;
        let fits = |(want, have): (&usize, &usize)| want == have || (*want == 0 && *have > 0);
        if dims.len() != shape.len() || !shape.iter().zip(&dims).all(fits) {
            return Err(what(&format!("has shape {dims:?} instead of {shape:?}")));
        }
        let data = value.get("data").and_then(Value::as_bin);
        let data = data.ok_or_else(|| what("has no data"))?;
        let bytes = dims.iter().try_fold(4usize, |n, dim| n.checked_mul(*dim));
        if bytes != Some(data.len()) {
            return Err(what("has more or fewer values than its shape says"));
        }
        let values = data.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        Ok((dims, values))
    }
}
