//! Breadth first over all states; what is found is printed as the shortest way there.

use std::collections::{HashMap, VecDeque};

use session_core::{Config, Shutdown};

use crate::world::{Bounds, Input, World};

/// How a state was first reached.
struct Node {
    from: u32,
    input: Option<Input>,
}

/// Explores everything, and panics with the shortest way to the first violation.
pub(crate) fn explore(name: &str, config: Config, bounds: Bounds) {
    let started = std::time::Instant::now();
    let mut nodes = vec![Node { from: 0, input: None }];
    let mut seen = HashMap::new();
    let mut edges: Vec<(u32, u32)> = Vec::new();
    let mut transitions = 0_usize;
    let first = World::new(config, bounds);
    seen.insert(first.digest(), 0_u32);
    let mut queue = VecDeque::from([(first, 0_u32)]);
    while let Some((world, at)) = queue.pop_front() {
        let facts = world.facts();
        world.refuses_nonsense().and_then(|()| ends_whatever_happens(&world)).unwrap_or_else(|claim| {
            violation(name, &nodes, at, None, &claim);
        });
        for input in world.inputs() {
            transitions += 1;
            let mut next = world.clone();
            if let Err(claim) = next.step(input) {
                violation(name, &nodes, at, Some(input), &claim);
            }
            let number = *seen.entry(next.digest()).or_insert_with(|| {
                let number = nodes.len() as u32;
                nodes.push(Node { from: at, input: Some(input) });
                queue.push_back((next, number));
                number
            });
            if facts.contains(&input) {
                edges.push((at, number));
            }
        }
    }
    if let Some(at) = circle(nodes.len(), &edges) {
        violation(name, &nodes, at, None, "I8: facts and time alone lead round in a circle");
    }
    let (states, took) = (nodes.len(), started.elapsed());
    println!("{name}: explored: {states} states, {transitions} transitions, 0 violations ({took:.1?})");
}

/// I8 from this state: a shutdown ends within its budget if nobody ever answers again, and ends with empty books if
/// everybody does.
fn ends_whatever_happens(world: &World) -> Result<(), String> {
    if world.is_stopped() {
        return Ok(());
    }
    let mut deaf = world.clone();
    let began = deaf.now;
    deaf.step(Input::ShutDown(Shutdown::Graceful))?;
    while !deaf.is_stopped() {
        deaf.step(Input::Time).map_err(|claim| format!("if nobody answers any more: {claim}"))?;
    }
    let whole = world.machine.config().worst_case_shutdown();
    if deaf.now.since(began) > whole {
        return Err(format!("I8: took {:?} of {whole:?}", deaf.now.since(began)));
    }
    let mut brisk = world.clone();
    brisk.step(Input::ShutDown(Shutdown::Graceful))?;
    while let Some(fact) = brisk.facts().into_iter().find(|fact| *fact != Input::Time) {
        brisk.step(fact).map_err(|claim| format!("if everybody answers: {claim}"))?;
    }
    let books = brisk.machine.books();
    let left = books.open + books.one_shots + books.abandoned + books.calls + books.executors;
    if !brisk.is_stopped() || left != 0 {
        return Err(format!("I4, I8: everybody answered, and there is left {books:?}"));
    }
    Ok(())
}

/// A state on a circle of these edges, if there is one (Kahn's algorithm).
fn circle(states: usize, edges: &[(u32, u32)]) -> Option<u32> {
    let mut to: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut incoming = vec![0_u32; states];
    for (from, target) in edges {
        to.entry(*from).or_default().push(*target);
        incoming[*target as usize] += 1;
    }
    let mut free: Vec<u32> = (0..states as u32).filter(|state| incoming[*state as usize] == 0).collect();
    while let Some(state) = free.pop() {
        for target in to.remove(&state).unwrap_or_default() {
            incoming[target as usize] -= 1;
            if incoming[target as usize] == 0 {
                free.push(target);
            }
        }
    }
    incoming.iter().position(|left| *left > 0).map(|state| state as u32)
}

/// The way to a violation, as the body of a test.
fn violation(name: &str, nodes: &[Node], at: u32, last: Option<Input>, claim: &str) -> ! {
    let mut way: Vec<Input> = last.into_iter().collect();
    let mut at = at;
    while let Some(input) = nodes[at as usize].input {
        way.push(input);
        at = nodes[at as usize].from;
    }
    way.reverse();
    let mut text = format!("{name}: {claim}\n\nlet mut world = World::new(config, bounds);\n");
    for input in way {
        text.push_str(&format!("world.step(Input::{input:?}).unwrap();\n"));
    }
    panic!("{text}");
}
