// Steps a machine that has neither actors nor delays. XState's own `transition` builds an actor with its first state
// for each event: a third of the objects that a gateway allocates.
import { type ActorLogic, createActor, type EventObject, type Snapshot } from 'xstate';

/** @param input begins no state: it only lets XState build the actor that belongs to the scope of all steps */
export function stepsOf<TSnapshot extends Snapshot<unknown>, TEvent extends EventObject, TInput>(
  machine: ActorLogic<TSnapshot, TEvent, TInput>,
  input: TInput,
): (state: TSnapshot, event: TEvent) => TSnapshot {
  const self = createActor(machine, { input });
  const nothing = () => {};
  const inert = {
    logger: nothing,
    defer: nothing,
    emit: nothing,
    stopChild: nothing,
    actionExecutor: nothing,
  };
  const scope = { self, system: self.system, id: '', sessionId: '', ...inert };
  return (state, event) => machine.transition(state, event, scope);
}
