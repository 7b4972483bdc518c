//! A dispatcher that is plainly right and slow: the queue is a list that is sorted
//! for every delivery, a root is a shared counter, and who is active is a stack of
//! shared cells. The oracle of the random programs.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

/// How many components there are.
pub(crate) const TARGETS: usize = 3;

/// Steps of a program; then all its scripts do nothing any more, so that one which
/// runs itself ends.
pub(crate) const FUEL: u32 = 400;

/// Whether a callback tells which root it runs under.
pub(crate) fn is_told(script: usize) -> bool {
    script.is_multiple_of(2)
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Admit {
        target: usize,
        script: usize,
    },
    Cancel {
        target: usize,
    },
    Publish {
        script: usize,
    },
    /// Publishes an event for all components.
    Tell {
        script: usize,
    },
    /// Publishes an event for the first component alone.
    TellFirst {
        script: usize,
    },
    Independent {
        script: usize,
    },
    Send {
        script: usize,
    },
    Child {
        script: usize,
    },
    Panic,
    Restart {
        target: usize,
    },
    Drain {
        budget: usize,
    },
    DrainCommands,
}

#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) scripts: Vec<Vec<Op>>,
    pub(crate) top: Vec<Op>,
    pub(crate) units: usize,
    pub(crate) deliveries: u32,
    /// Someone is told of publications at once, and does nothing.
    pub(crate) is_watched: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    Overflow,
    Runaway,
    PublicationUnwound,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Callback {
        target: usize,
        script: usize,
        root: Option<u64>,
    },
    Command {
        script: usize,
        root: Option<u64>,
    },
    Drained {
        result: Result<bool, Option<Halt>>,
    },
}

struct Root {
    id: u64,
    deliveries: Cell<u32>,
}

/// What a scope's root is, once it has one; nested publications share the cell.
type ScopeRoot = Rc<RefCell<Option<Rc<Root>>>>;

struct Waiting {
    publication: u64,
    admission: u64,
    target: usize,
    /// None: it was cancelled.
    script: Option<usize>,
    root: Rc<Root>,
    epoch: u32,
}

struct Command {
    script: usize,
    root: Option<Rc<Root>>,
}

/// A panic is on its way out.
struct Unwound;

pub(crate) struct PlainDispatcher {
    program: Program,
    pub(crate) log: Vec<Entry>,
    queue: Vec<Waiting>,
    sent: Vec<Command>,
    /// The innermost scope is last; none at all outside of scopes.
    scopes: Vec<ScopeRoot>,
    publications: Vec<u64>,
    sequence: u64,
    roots: u64,
    halt: Option<Halt>,
    draining: bool,
    /// Of each component; `None` once it has panicked.
    epochs: [Option<u32>; TARGETS],
    running: Option<usize>,
    fuel: u32,
}

impl PlainDispatcher {
    pub(crate) fn new(program: &Program) -> Self {
        Self {
            program: program.clone(),
            log: Vec::new(),
            queue: Vec::new(),
            sent: Vec::new(),
            scopes: Vec::new(),
            publications: Vec::new(),
            sequence: 0,
            roots: 0,
            halt: None,
            draining: false,
            epochs: [Some(0); TARGETS],
            running: None,
            fuel: FUEL,
        }
    }

    pub(crate) fn op_unwinds(&mut self, op: &Op) -> bool {
        self.op(op, &mut None).is_err()
    }

    pub(crate) fn positions(&mut self) -> Vec<(u64, u64)> {
        self.queue
            .sort_by_key(|one| (one.publication, one.admission));
        self.queue
            .iter()
            .map(|one| (one.publication, one.admission))
            .collect()
    }

    pub(crate) fn commands(&self) -> usize {
        self.sent.len()
    }

    pub(crate) fn halted(&self) -> Option<Halt> {
        self.halt
    }

    fn halts(&mut self, why: Halt) {
        self.halt = self.halt.or(Some(why));
    }

    fn next(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    fn active(&self) -> Option<Rc<Root>> {
        self.scopes.last()?.borrow().clone()
    }

    fn new_root(&mut self) -> Rc<Root> {
        self.roots += 1;
        Rc::new(Root {
            id: self.roots,
            deliveries: Cell::new(0),
        })
    }

    /// The scope's root, made now if need be; outside of scopes one of its own.
    fn root(&mut self) -> Rc<Root> {
        if let Some(root) = self.active() {
            return root;
        }
        let root = self.new_root();
        if let Some(scope) = self.scopes.last() {
            *scope.borrow_mut() = Some(Rc::clone(&root));
        }
        root
    }

    fn sent_root(&mut self) -> Option<Rc<Root>> {
        (!self.scopes.is_empty()).then(|| self.root())
    }

    fn script(
        &mut self,
        script: usize,
        children: &mut Option<&mut Vec<Command>>,
    ) -> Result<(), Unwound> {
        for op in self.program.scripts[script].clone() {
            self.op(&op, children)?;
        }
        Ok(())
    }

    /// In a scope with this root, or one to be made.
    fn within<R>(&mut self, root: Option<Rc<Root>>, body: impl FnOnce(&mut Self) -> R) -> R {
        self.scopes.push(Rc::new(RefCell::new(root)));
        let result = body(self);
        self.scopes.pop();
        result
    }

    fn op(&mut self, op: &Op, children: &mut Option<&mut Vec<Command>>) -> Result<(), Unwound> {
        let Some(fuel) = self.fuel.checked_sub(1) else {
            return Ok(());
        };
        self.fuel = fuel;
        match *op {
            Op::Admit { target, script } => self.admit(target, Some(script)),
            Op::Cancel { target } => self.admit(target, None),
            Op::Publish { script } => {
                let result = self.publication(|plain| plain.script(script, children));
                if result.is_err() {
                    self.halts(Halt::PublicationUnwound);
                }
                return result;
            }
            Op::Tell { script } => self.tell(0..TARGETS, script),
            Op::TellFirst { script } => self.tell(0..1, script),
            Op::Independent { script } => {
                return self.within(None, |plain| plain.script(script, children));
            }
            Op::Send { script } => {
                let root = self.sent_root();
                self.sent.push(Command { script, root });
            }
            Op::Child { script } => {
                if let Some(children) = children {
                    let root = self.sent_root();
                    children.push(Command { script, root });
                }
            }
            Op::Panic => return Err(Unwound),
            Op::Restart { target } => {
                if self.running != Some(target)
                    && let Some(epoch) = &mut self.epochs[target]
                {
                    *epoch += 1;
                }
            }
            Op::Drain { budget } => {
                let result = self.drain(budget);
                self.log.push(Entry::Drained { result });
            }
            Op::DrainCommands => return self.drain_commands(),
        }
        Ok(())
    }

    fn tell(&mut self, targets: Range<usize>, script: usize) {
        self.publication(|plain| {
            for target in targets {
                if plain.epochs[target].is_some() {
                    plain.admit(target, Some(script));
                }
            }
        });
    }

    fn publication<R>(&mut self, body: impl FnOnce(&mut Self) -> R) -> R {
        let ordinal = self.next();
        self.publications.push(ordinal);
        let scope = self.scopes.last().cloned().unwrap_or_default();
        self.scopes.push(scope);
        let result = body(self);
        self.scopes.pop();
        self.publications.pop();
        result
    }

    fn admit(&mut self, target: usize, script: Option<usize>) {
        if self.halt.is_some() {
            return;
        }
        let root = self.root();
        let admission = self.next();
        if self.queue.len() >= self.program.units {
            return self.halts(Halt::Overflow);
        }
        let publication = self.publications.last().copied().unwrap_or(admission);
        let epoch = self.epochs[target].unwrap_or(0);
        self.queue.push(Waiting {
            publication,
            admission,
            target,
            script,
            root,
            epoch,
        });
    }

    fn drain(&mut self, budget: usize) -> Result<bool, Option<Halt>> {
        if self.draining || !self.publications.is_empty() {
            return Err(None);
        }
        if self.halt.is_some() {
            return Err(self.halt);
        }
        for _ in 0..budget {
            self.queue
                .sort_by_key(|one| (one.publication, one.admission));
            let Some(head) = self.queue.first() else {
                break;
            };
            let (target, script, epoch) = (head.target, head.script, head.epoch);
            let root = Rc::clone(&head.root);
            if script.is_some() {
                if root.deliveries.get() >= self.program.deliveries {
                    self.halts(Halt::Runaway);
                    return Err(self.halt);
                }
                self.draining = true;
                if let Some(script) = script
                    && self.epochs[target] == Some(epoch)
                {
                    self.callback(target, script, &root);
                }
                self.draining = false;
                root.deliveries.set(root.deliveries.get() + 1);
            }
            // It was first when it began, and nothing that came since goes before it.
            self.queue.remove(0);
            if self.halt.is_some() {
                return Err(self.halt);
            }
        }
        Ok(!self.queue.is_empty())
    }

    fn callback(&mut self, target: usize, script: usize, root: &Rc<Root>) {
        self.log.push(Entry::Callback {
            target,
            script,
            root: is_told(script).then_some(root.id),
        });
        self.running = Some(target);
        let result = self.within(Some(Rc::clone(root)), |plain| {
            plain.script(script, &mut None)
        });
        self.running = None;
        if result.is_err() {
            self.epochs[target] = None;
        }
    }

    fn drain_commands(&mut self) -> Result<(), Unwound> {
        for command in std::mem::take(&mut self.sent) {
            self.command(command)?;
        }
        Ok(())
    }

    fn command(&mut self, command: Command) -> Result<(), Unwound> {
        let mut captured = Vec::new();
        self.within(command.root, |plain| {
            let root = plain.active().map(|root| root.id);
            plain.log.push(Entry::Command {
                script: command.script,
                root,
            });
            plain.script(command.script, &mut Some(&mut captured))
        })?;
        for child in captured {
            self.command(child)?;
        }
        Ok(())
    }
}
