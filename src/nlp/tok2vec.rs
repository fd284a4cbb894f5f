//! Knows the network that turns lexical features into token vectors; must not know any task.
//!
//! Hash embeddings, a maxout mixer, then four residual convolutions over windows of three tokens.
//! The first convolution is split into the products of each token with the three window
//! positions, which depend on the token alone and are kept with it. The other three compute two
//! neighbouring tokens with four products instead of six (Winograd's F(2, 3)).

use super::dense::{Matrix, add, larger};
use super::error::NlpError;
use super::lexeme::Lexeme;
use super::strings::key_hashes;
use super::thinc::ModelFile;

/// Width of a token vector.
pub(super) const WIDTH: usize = 96;

/// Alternatives of a maxout unit.
const PIECES: usize = 3;

/// Values before the maximum is taken, ordered [piece][output].
const WIDE: usize = WIDTH * PIECES;

/// Convolutions, and therefore padding rows on either side of a text.
const DEPTH: usize = 4;

/// Padding rows on either side that still matter after the first convolution.
const MARGIN: usize = DEPTH - 1;

/// Scratch space, so that a text costs no large allocations.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    pub(super) spread: Vec<[f32; 4]>,
    rows: Vec<f32>,
    combined: [Vec<f32>; 4],
    products: [Vec<f32>; 4],
}

/// One network with its own tables and weights.
#[derive(Debug)]
pub(super) struct Tok2Vec {
    tables: Vec<Table>,
    mixer: Matrix,
    mixer_head: Head,
    /// `WIDTH` x 3 `WIDE`: the products with the previous, this and the next window position.
    first: Matrix,
    first_head: Head,
    /// The first convolution's result for a padding row that no token can reach.
    far_padding: [f32; WIDTH],
    rest: Vec<Convolution>,
}

/// The rows of one feature column.
#[derive(Debug)]
struct Table {
    seed: u32,
    rows: u32,
    cells: Vec<f32>,
}

/// A convolution in the transformed form of F(2, 3).
#[derive(Debug)]
struct Convolution {
    parts: [Matrix; 4],
    head: Head,
}

/// What follows every matrix: bias, maximum over the pieces, layer normalisation.
#[derive(Debug)]
struct Head {
    bias: Vec<f32>,
    gain: Vec<f32>,
    shift: Vec<f32>,
}

impl Head {
    /// Reads the `nth` maxout and layer norm; also returns the weights, [output][piece][input].
    fn load(file: &ModelFile<'_>, nth: usize, inputs: usize) -> Result<(Self, Vec<f32>), NlpError> {
        let (_, weights) = file.array("maxout", nth, "W", &[WIDTH, PIECES, inputs])?;
        let (_, bias) = file.array("maxout", nth, "b", &[WIDTH, PIECES])?;
        let (_, gain) = file.array("layernorm", nth, "G", &[WIDTH])?;
        let (_, shift) = file.array("layernorm", nth, "b", &[WIDTH])?;
        let bias = (0..WIDE).map(|at| bias[(at % WIDTH) * PIECES + at / WIDTH]);
        let head = Self { bias: bias.collect(), gain, shift };
        Ok((head, weights))
    }

    /// Adds the normalised maximum of `values` (without bias; `WIDE`) to `row` (`WIDTH`).
    #[inline]
    fn finish(&self, values: &[f32], row: &mut [f32]) {
        let mut best = [0.0; WIDTH];
        let (values, bias) = (&values[..WIDE], &self.bias[..WIDE]);
        for o in 0..WIDTH {
            let first = values[o] + bias[o];
            let second = values[WIDTH + o] + bias[WIDTH + o];
            let third = values[2 * WIDTH + o] + bias[2 * WIDTH + o];
            best[o] = larger(larger(first, second), third);
        }
        let mean = lane_sum(&best, |x| x) / WIDTH as f32;
        let variance = lane_sum(&best, |x| (x - mean) * (x - mean)) / WIDTH as f32;
        let scale = 1.0 / (variance + 1e-8).sqrt();
        let (gain, shift) = (&self.gain[..WIDTH], &self.shift[..WIDTH]);
        let row = &mut row[..WIDTH];
        for o in 0..WIDTH {
            row[o] += (best[o] - mean) * scale * gain[o] + shift[o];
        }
    }
}

/// The sum of `map` over `values`, in eight lanes so that it can be vectorised.
#[inline]
fn lane_sum(values: &[f32; WIDTH], map: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0; 8];
    for chunk in values.as_chunks::<8>().0 {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += map(*value);
        }
    }
    lanes.iter().sum()
}

impl Tok2Vec {
    /// Reads the network with `columns` feature columns (4 or 6) out of a model file.
    pub(super) fn load(file: &ModelFile<'_>, columns: usize) -> Result<Self, NlpError> {
        if file.count("hashembed") != columns {
            return Err(file.bad(format!("it does not have {columns} feature columns")));
        }
        let mut tables = Vec::with_capacity(columns);
        for column in 0..columns {
            let (shape, cells) = file.array("hashembed", column, "E", &[0, WIDTH])?;
            let seed = file.int_attr("hashembed", column, "seed")?;
            let bad = || file.bad(format!("table {column} has an impossible size or seed"));
            tables.push(Table {
                seed: u32::try_from(seed).map_err(|_| bad())?,
                rows: u32::try_from(shape[0]).map_err(|_| bad())?,
                cells,
            });
        }
        let inputs = columns * WIDTH;
        let (mixer_head, weights) = Head::load(file, 0, inputs)?;
        // Weights are stored [output][piece][input]; `wide` counts [piece][output].
        let row = |wide: usize| (wide % WIDTH) * PIECES + wide / WIDTH;
        let mixer = Matrix::new(inputs, WIDE, |wide| &weights[row(wide) * inputs..(row(wide) + 1) * inputs]);
        let window = 3 * WIDTH;
        let (first_head, weights) = Head::load(file, 1, window)?;
        let first = Matrix::new(WIDTH, 3 * WIDE, |o| {
            let start = row(o % WIDE) * window + o / WIDE * WIDTH;
            &weights[start..start + WIDTH]
        });
        let mut far_padding = [0.0; WIDTH];
        first_head.finish(&[0.0; WIDE], &mut far_padding);
        let mut rest = Vec::with_capacity(DEPTH - 1);
        for layer in 1..DEPTH {
            let (head, weights) = Head::load(file, layer + 1, window)?;
            // The weights of one value before the maximum, for one position of the window.
            let tap = |wide: usize, place: usize| {
                let start = row(wide) * window + place * WIDTH;
                &weights[start..start + WIDTH]
            };
            let mixed = |sign: f32| {
                Matrix::new(WIDTH, WIDE, |wide| -> [f32; WIDTH] {
                    let (previous, this, next) = (tap(wide, 0), tap(wide, 1), tap(wide, 2));
                    std::array::from_fn(|i| (previous[i] + next[i] + sign * this[i]) / 2.0)
                })
            };
            rest.push(Convolution {
                parts: [
                    Matrix::new(WIDTH, WIDE, |wide| tap(wide, 0)),
                    mixed(1.0),
                    mixed(-1.0),
                    Matrix::new(WIDTH, WIDE, |wide| tap(wide, 2)),
                ],
                head,
            });
        }
        Ok(Self { tables, mixer, mixer_head, first, first_head, far_padding, rest })
    }

    /// Computes what the network needs of each token that has not been seen before: its vector and
    /// its three products with the first convolution, 960 floats. `slot` picks the place in [`Lexeme::inputs`] for a token that is followed by a space or not.
    pub(super) fn prepare<'a>(
        &self,
        tokens: impl Iterator<Item = (&'a Lexeme, bool)>,
        slot: impl Fn(bool) -> usize,
        space: &mut Workspace,
    ) {
        let missing: Vec<_> = tokens.filter(|(lexeme, after)| lexeme.inputs[slot(*after)].get().is_none()).collect();
        if missing.is_empty() {
            return;
        }
        space.rows.clear();
        for (lexeme, after) in &missing {
            let [norm, prefix, suffix, shape] = lexeme.ids;
            let flags = [u64::from(*after), u64::from(lexeme.is_space)];
            let keys = [norm, prefix, suffix, shape, flags[0], flags[1]];
            for (table, key) in self.tables.iter().zip(keys) {
                let mut sum = [0.0; WIDTH];
                for hash in key_hashes(key, table.seed) {
                    let start = (hash % table.rows) as usize * WIDTH;
                    add(&mut sum, &table.cells[start..start + WIDTH]);
                }
                space.rows.extend_from_slice(&sum);
            }
        }
        let [wide, products, ..] = &mut space.products;
        self.mixer.multiply(&space.rows, wide, &mut space.spread);
        space.rows.clear();
        space.rows.resize(missing.len() * WIDTH, 0.0);
        for (values, row) in wide.chunks(WIDE).zip(space.rows.chunks_mut(WIDTH)) {
            self.mixer_head.finish(values, row);
        }
        self.first.multiply(&space.rows, products, &mut space.spread);
        let rows = space.rows.chunks(WIDTH).zip(products.chunks(3 * WIDE));
        for ((lexeme, after), (row, products)) in missing.iter().zip(rows) {
            lexeme.inputs[slot(*after)].get_or_init(|| [row, products].concat().into());
        }
    }

    /// The vectors (`WIDTH` each) of a text whose tokens have the given inputs, into `out`.
    pub(super) fn encode(&self, inputs: &[&[f32]], out: &mut Vec<f32>, space: &mut Workspace) {
        let count = inputs.len();
        out.clear();
        if count == 0 {
            return;
        }
        self.first_convolution(inputs, &mut space.rows);
        for (layer, convolution) in self.rest.iter().enumerate() {
            // Each layer needs one row less on either side than the one before.
            let skip = (layer + 1) * WIDTH;
            let outputs = count + 2 * (MARGIN - layer - 1);
            convolution.apply(skip, outputs, space);
        }
        let skip = MARGIN * WIDTH;
        out.extend_from_slice(&space.rows[skip..skip + count * WIDTH]);
    }

    /// What each of the four convolutions makes of the tokens, for the test of their values.
    #[cfg(test)]
    pub(super) fn layers(&self, inputs: &[&[f32]]) -> Vec<Vec<f32>> {
        let mut space = Workspace::default();
        let tokens = |rows: &[f32]| {
            let skip = MARGIN * WIDTH;
            rows[skip..skip + inputs.len() * WIDTH].to_vec()
        };
        self.first_convolution(inputs, &mut space.rows);
        let mut layers = vec![tokens(&space.rows)];
        for (layer, convolution) in self.rest.iter().enumerate() {
            let outputs = inputs.len() + 2 * (MARGIN - layer - 1);
            convolution.apply((layer + 1) * WIDTH, outputs, &mut space);
            layers.push(tokens(&space.rows));
        }
        layers
    }

    /// Fills `rows` with `MARGIN` padding rows, the tokens, and `MARGIN` padding rows.
    fn first_convolution(&self, inputs: &[&[f32]], rows: &mut Vec<f32>) {
        let count = inputs.len();
        rows.clear();
        rows.resize((count + 2 * MARGIN) * WIDTH, 0.0);
        // Tokens and rows are numbered from the first padding row on. Padding starts as zeros,
        // so only tokens contribute a product.
        let token = |at: usize| at.checked_sub(MARGIN).and_then(|at| inputs.get(at));
        for (at, row) in rows.chunks_exact_mut(WIDTH).enumerate() {
            let previous = at.checked_sub(1).and_then(token);
            let (this, next) = (token(at), token(at + 1));
            if previous.is_none() && this.is_none() && next.is_none() {
                row.copy_from_slice(&self.far_padding);
                continue;
            }
            let mut wide = [0.0; WIDE];
            for (place, input) in [previous, this, next].iter().enumerate() {
                if let Some(input) = input {
                    let start = WIDTH + place * WIDE;
                    add(&mut wide, &input[start..start + WIDE]);
                }
            }
            if let Some(input) = this {
                row.copy_from_slice(&input[..WIDTH]);
            }
            self.first_head.finish(&wide, row);
        }
    }
}

impl Convolution {
    /// Replaces `outputs` rows of `space.rows`, from the float number `skip` on, by their
    /// successors. The rows right before and after them are read too.
    fn apply(&self, skip: usize, outputs: usize, space: &mut Workspace) {
        let tiles = outputs.div_ceil(2);
        let start = skip - WIDTH;
        for combined in &mut space.combined {
            combined.clear();
            combined.reserve(tiles * WIDTH);
        }
        // A row beyond the last one is only read for an output that is not wanted.
        space.rows.resize(space.rows.len().max(start + (2 * tiles + 2) * WIDTH), 0.0);
        for tile in 0..tiles {
            let from = start + 2 * tile * WIDTH;
            let window = &space.rows[from..from + 4 * WIDTH];
            let row = |at: usize| &window[at * WIDTH..(at + 1) * WIDTH];
            let pairs = [(0, 2, -1.0), (1, 2, 1.0), (2, 1, -1.0), (1, 3, -1.0)];
            for (combined, (left, right, sign)) in space.combined.iter_mut().zip(pairs) {
                let both = row(left).iter().zip(row(right));
                combined.extend(both.map(|(left, right)| left + sign * right));
            }
        }
        let sides = space.combined.iter().zip(&mut space.products);
        for (matrix, (combined, product)) in self.parts.iter().zip(sides) {
            matrix.multiply(combined, product, &mut space.spread);
        }
        let rows = &mut space.rows[skip..skip + outputs * WIDTH];
        for (tile, rows) in rows.chunks_mut(2 * WIDTH).enumerate() {
            let part = |at: usize| &space.products[at][tile * WIDE..(tile + 1) * WIDE];
            let (one, two, three, four) = (part(0), part(1), part(2), part(3));
            let (mut even, mut odd) = ([0.0; WIDE], [0.0; WIDE]);
            for at in 0..WIDE {
                even[at] = one[at] + two[at] + three[at];
                odd[at] = two[at] - three[at] - four[at];
            }
            let (first, second) = rows.split_at_mut(WIDTH);
            self.head.finish(&even, first);
            if !second.is_empty() {
                self.head.finish(&odd, second);
            }
        }
    }
}
