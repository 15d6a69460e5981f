//! What a model takes and gives, read off its file: which input is which, and what it has as
//! constants.

use prost::Message;
use qkvet_spec::{Mask, Unexpected, Window};

use super::constants::Constants;
use super::feed::Element;
use super::input::Input;
use super::proto::{AttributeType, GraphProto, ModelProto, NodeProto, ValueInfoProto};
use super::role::{Operator, Role};

/// A model as it is called.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The operator that was found in it, if one alone takes its query, key and value.
    pub operator: Operator,
    /// Its inputs by what they are.
    pub inputs: Vec<(Role, Input)>,
    /// The output that is the result of attention, and its number of axes where that is known.
    pub output: (String, Option<usize>),
    /// The output that is the weights, if there is one.
    pub weights: Option<String>,
    /// Outputs that are not looked at.
    pub others: Vec<String>,
    /// What it always does.
    pub constants: Constants,
    /// What a call without a mask gives everywhere in place of one.
    pub neutral: bool,
}

impl Model {
    /// Reads a model. `declared` are constants that no attribute tells.
    ///
    /// If one node Attention (of ONNX), `MultiHeadAttention` or `GroupQueryAttention` (of
    /// com.microsoft) takes its query, key and value from inputs of the graph, its places and
    /// attributes say what is what. Otherwise inputs are known by their names, or, if there are
    /// just three, by their order.
    ///
    /// # Errors
    /// A file that is no model; inputs that are not known; an operator with what no call has, such
    /// as rotary positions.
    pub fn read(bytes: &[u8], declared: &Constants) -> Result<Self, Unexpected> {
        let model = ModelProto::decode(bytes).map_err(|error| {
            Unexpected::at("file", "an ONNX model")
                .error(error)
                .hint("a file such as onnx.save writes")
        })?;
        let graph = model.graph.unwrap_or_default();
        let infos: Vec<&ValueInfoProto> = graph
            .input
            .iter()
            .filter(|input| !graph.initializer.iter().any(|constant| constant.name == input.name))
            .collect();
        let mut inputs = Vec::new();
        for info in &infos {
            inputs.push(input(info)?);
        }
        let (operator, node) = match attention_node(&graph, &inputs) {
            Some((operator, node)) => (operator, Some(node)),
            None => (Operator::Graph, None),
        };
        let (roles, neutral) = match node {
            Some(node) => by_place(&graph, operator, node, &inputs)?,
            // Whether true attends is not to be seen in plain nodes.
            None => (by_name(&inputs)?, true),
        };
        let constants = match node {
            Some(node) => of_node(operator, node)?.or(declared),
            None => declared.clone(),
        };
        let weights = weights(&graph, node);
        let output = output(&graph, node, weights.as_deref())?;
        let is_other = |name: &&String| **name != output.0 && weights.as_ref() != Some(*name);
        let others =
            graph.output.iter().map(|output| &output.name).filter(is_other).cloned().collect();
        let model = Self {
            operator,
            output,
            weights,
            others,
            inputs: roles.into_iter().zip(inputs).collect(),
            constants,
            neutral,
        };
        model.check()?;
        Ok(model)
    }

    /// The same model, which is declared to take masks so: where true hides, a mask of false
    /// everywhere hides nothing.
    #[must_use]
    pub fn taking(self, mask: Mask) -> Self {
        Self { neutral: self.neutral && mask != Mask::TrueHides, ..self }
    }

    /// Whether calls without a mask are put with one that is true everywhere.
    pub(crate) fn fills_masks(&self) -> bool {
        self.neutral && self.input(Role::Mask).is_some()
    }

    /// The input of a role.
    pub fn input(&self, role: Role) -> Option<&Input> {
        self.inputs.iter().find(|(known, _)| *known == role).map(|(_, input)| input)
    }

    /// What the user should know of how it is called: the operator, its constants, its inputs; its
    /// outputs, where there are some that are not looked at; one line each.
    pub fn describe(&self) -> Vec<String> {
        let inputs = self.inputs.iter().map(|(role, input)| {
            let named = if role.name() == input.name {
                String::new()
            } else {
                format!(" as {}", input.name)
            };
            let other = Role::by_name(input)
                .filter(|other| is_main(*other) && is_main(*role) && other != role);
            let against = other.map_or("", |_| " (by its place, not its name)");
            format!(
                "{}{named} {} {}{against}",
                role.name(),
                input.element.name(),
                input.format_shape()
            )
        });
        let constants = self.constants.describe();
        let has =
            if constants.is_empty() { String::new() } else { format!("; constants: {constants}") };
        let mut lines = vec![
            format!("{}{has}", self.operator.about()),
            format!("takes {}", inputs.collect::<Vec<_>>().join(", ")),
        ];
        if !self.others.is_empty() {
            let weights = self
                .weights
                .as_ref()
                .map_or_else(String::new, |name| format!(", weights from {name}"));
            let others = self.others.join(", ");
            lines.push(format!(
                "gives its result as {}{weights}; not looked at: {others}",
                self.output.0
            ));
        }
        lines
    }

    fn check(&self) -> Result<(), Unexpected> {
        let float = |role: Role| match self.input(role) {
            Some(Input { element: Element::Float(dtype), .. }) => Ok(*dtype),
            Some(other) => Err(other
                .wrong("floating-point numbers")
                .got(other.element.name())
                .hint("query, key and value are of one floating-point format")),
            None => {
                let hint = "name its inputs query, key, value; mask, bias, scale, key_lengths are known too (docs/onnx.md)";
                let expected = format!("one for the {}", role.name());
                Err(Unexpected::at("inputs of the model", expected).got("none").hint(hint))
            }
        };
        let (query, key, value) = (float(Role::Query)?, float(Role::Key)?, float(Role::Value)?);
        if query != key || key != value {
            return Err(Unexpected::at("query, key and value", "one format")
                .got(format!("{query}, {key} and {value}"))
                .hint("a cast belongs into the model"));
        }
        for role in [Role::Query, Role::Key, Role::Value] {
            let Some(input) = self.input(role) else { continue };
            if input.rank() != 3 && input.rank() != 4 {
                return Err(input
                    .wrong("(b, h, n, d) or (b, n, h · d)")
                    .got(input.format_shape())
                    .hint("declare the shape in the model, or wrap it in Python"));
            }
            if input.rank() == 3
                && self.operator != Operator::Graph
                && self.constants.heads.is_none()
            {
                return Err(input
                    .wrong("q_num_heads and kv_num_heads beside three axes")
                    .got("neither")
                    .hint("the operator needs them"));
            }
        }
        Ok(())
    }
}

/// Whether a role is one of the three that every model has.
fn is_main(role: Role) -> bool {
    matches!(role, Role::Query | Role::Key | Role::Value)
}

fn input(info: &ValueInfoProto) -> Result<Input, Unexpected> {
    let wrong = Unexpected::at(
        format!("input {}", info.name),
        "a tensor of numbers whose number of axes is known",
    )
    .hint("wrap the model in Python: def attention(query, key, value): ...");
    let (code, shape) = info.form().ok_or_else(|| wrong.clone().got("another type"))?;
    let element = Element::from_code(code)
        .ok_or_else(|| wrong.clone().got(format!("elements of type {code}")))?;
    Ok(Input {
        name: info.name.clone(),
        element,
        shape: shape.ok_or_else(|| wrong.got("no shape"))?,
        names: info.names(),
    })
}

/// The one attention node whose query, key and value are inputs of the graph.
fn attention_node<'a>(
    graph: &'a GraphProto,
    inputs: &[Input],
) -> Option<(Operator, &'a NodeProto)> {
    let mut nodes = graph
        .node
        .iter()
        .filter_map(|node| Some((Operator::of(&node.domain, &node.op_type)?, node)));
    let (only, None) = (nodes.next()?, nodes.next()) else { return None };
    let is_input = |name: &String| inputs.iter().any(|input| input.name == *name);
    (only.1.input.len() >= 3 && only.1.input[..3].iter().all(is_input)).then_some(only)
}

/// What each input is, and what a mask is everywhere that hides nothing: a mask may be negated on
/// its way to the operator.
fn by_place(
    graph: &GraphProto,
    operator: Operator,
    node: &NodeProto,
    inputs: &[Input],
) -> Result<(Vec<Role>, bool), Unexpected> {
    let mut neutral = true;
    let mut role = |input: &Input| {
        let direct = node.input.iter().position(|name| *name == input.name);
        if let Some(role) = direct.and_then(|place| operator.role(place, input)) {
            return Ok(role);
        }
        if let Some(place) = direct {
            let (element, shape) = (input.element.name(), input.format_shape());
            let got = format!("{element} {shape} in place {} of {}", place + 1, node.op_type);
            let hint = "leave it out, make it a constant of the model, or wrap the model in Python";
            return Err(input.wrong("what a call of attention has").got(got).hint(hint));
        }
        let negated =
            negations(graph, node, &input.name).filter(|_| input.element == Element::Bool);
        let of_mask = negated.filter(|(place, _)| operator.role(*place, input) == Some(Role::Mask));
        let Some((_, is_negated)) = of_mask else {
            let hint = "of what is done to it before, only Not of a mask is looked at: leave the rest out, make it a constant, or wrap the model in Python";
            return Err(input
                .wrong(&format!("one that {} takes itself", node.op_type))
                .got("one of another node")
                .hint(hint));
        };
        neutral = !is_negated;
        Ok(Role::Mask)
    };
    let roles = inputs.iter().map(&mut role).collect::<Result<_, _>>()?;
    Ok((roles, neutral))
}

/// The place of `node` that an input comes to by way of `Not` alone, and whether it is negated
/// there.
fn negations(graph: &GraphProto, node: &NodeProto, input: &str) -> Option<(usize, bool)> {
    let (mut name, mut is_negated) = (input, false);
    // No longer than the graph, which may go in circles in a file that is wrong.
    for _ in &graph.node {
        let not = |other: &&NodeProto| {
            matches!(other.domain.as_str(), "" | "ai.onnx")
                && other.op_type == "Not"
                && other.input == [name]
        };
        name = graph.node.iter().find(not)?.output.first()?;
        is_negated = !is_negated;
        if let Some(place) = node.input.iter().position(|own| own == name) {
            return Some((place, is_negated));
        }
    }
    None
}

fn by_name(inputs: &[Input]) -> Result<Vec<Role>, Unexpected> {
    let named: Vec<Option<Role>> = inputs.iter().map(Role::by_name).collect();
    let is_plain = |input: &Input| matches!(input.element, Element::Float(_)) && input.rank() >= 3;
    if named.iter().all(Option::is_none) && inputs.len() == 3 && inputs.iter().all(is_plain) {
        return Ok(vec![Role::Query, Role::Key, Role::Value]);
    }
    let mut roles: Vec<Role> = Vec::new();
    for (role, input) in named.into_iter().zip(inputs) {
        let other = role.and_then(|role| roles.iter().position(|known| *known == role));
        match (role, other) {
            (Some(role), None) => roles.push(role),
            (Some(role), Some(at)) => {
                let (first, second, name) = (&inputs[at].name, &input.name, role.name());
                let place = format!("inputs {first} and {second}");
                return Err(Unexpected::at(place, format!("one for the {name}"))
                    .got("two names of it")
                    .hint(format!(
                        "rename the one that is not the {name}, or make it a constant of the model"
                    )));
            }
            (None, _) => {
                return Err(input
                    .wrong("a name of query, key, value, mask, bias and so on")
                    .got("an unknown one")
                    .hint(format!("known: {}", Role::known_names())));
            }
        }
    }
    Ok(roles)
}

/// What the attributes of the node say.
fn of_node(operator: Operator, node: &NodeProto) -> Result<Constants, Unexpected> {
    let attribute = |name: &str| node.attribute.iter().find(|attribute| attribute.name == name);
    let int =
        |name: &str| attribute(name).filter(|x| x.r#type == AttributeType::Int as i32).map(|x| x.i);
    let float = |name: &str| {
        attribute(name).filter(|x| x.r#type == AttributeType::Float as i32).map(|x| f64::from(x.f))
    };
    let heads = |query: &str, key: &str| {
        let count = |name: &str| int(name).and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
        count(query).map(|h_q| (h_q, count(key).unwrap_or(h_q)))
    };
    let size = |name: &str| int(name).and_then(|n| usize::try_from(n).ok());
    let positive = |x: Option<f64>| x.filter(|x| *x != 0.0);
    let is_on = |name: &str| int(name).is_some_and(|n| n != 0);
    if let Some(name) = ["do_rotary", "smooth_softmax"].into_iter().find(|name| is_on(name)) {
        return Err(Unexpected::at(format!("{name} of {}", node.op_type), "0")
            .got(1)
            .hint("no call of attention has it"));
    }
    Ok(match operator {
        Operator::Graph => Constants::default(),
        Operator::Attention => {
            let (left, right) = (size("left_window_size"), size("right_window_size"));
            Constants {
                causal: Some(is_on("is_causal")),
                scale: float("scale"),
                softcap: positive(float("softcap")),
                window: (left.is_some() || right.is_some()).then_some(Window { left, right }),
                heads: heads("q_num_heads", "kv_num_heads"),
            }
        }
        Operator::MultiHead => Constants {
            causal: Some(is_on("unidirectional")),
            scale: positive(float("scale")),
            heads: heads("num_heads", "num_heads"),
            ..Constants::default()
        },
        Operator::GroupQuery => Constants {
            causal: Some(true),
            scale: positive(float("scale")),
            softcap: positive(float("softcap")),
            window: size("local_window_size")
                .filter(|n| *n > 0)
                .map(|n| Window { left: Some(n - 1), right: None }),
            heads: heads("num_heads", "kv_num_heads"),
        },
    })
}

/// The result: that of the node if the graph gives it, else the first output that is not the
/// weights.
fn output(
    graph: &GraphProto,
    node: Option<&NodeProto>,
    weights: Option<&str>,
) -> Result<(String, Option<usize>), Unexpected> {
    let of_node = node.and_then(|node| {
        graph.output.iter().find(|output| node.output.first() == Some(&output.name))
    });
    let first = graph.output.iter().find(|output| weights != Some(output.name.as_str()));
    let found = of_node.or(first);
    let output = found.ok_or_else(|| {
        Unexpected::at("outputs of the model", "one").got("none").hint("a model of attention")
    })?;
    let rank = output.form().and_then(|(_, shape)| shape).map(|shape| shape.len());
    Ok((output.name.clone(), rank))
}

/// The weights: an output of the node that is what follows the softmax, or one that is called so.
fn weights(graph: &GraphProto, node: Option<&NodeProto>) -> Option<String> {
    const AFTER_SOFTMAX: i64 = 3;
    let mode = |node: &NodeProto| {
        node.attribute.iter().any(|attribute| {
            attribute.name == "qk_matmul_output_mode" && attribute.i == AFTER_SOFTMAX
        })
    };
    let of_node = node
        .filter(|node| mode(node))
        .and_then(|node| node.output.get(3))
        .filter(|name| !name.is_empty());
    let by_name = |output: &&ValueInfoProto| {
        ["weights", "attn_weights", "attention_weights"].contains(&output.name.as_str())
    };
    let found = graph.output.iter().find(|output| of_node == Some(&output.name));
    found.or_else(|| graph.output.iter().find(by_name)).map(|output| output.name.clone())
}
