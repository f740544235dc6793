// Notices when the service has too little of its processor: what it leaves undone then is read from here.
import { createActor, type StateValueFrom } from 'xstate';
import { type OverloadActor, overloadMachine } from '../../machines/power/overload.machine.js';

export type OverloadState = StateValueFrom<typeof overloadMachine>;

/** A look at the clock that comes so late waited for other work. */
const LATE_MS = 500;

export class Overload {
  readonly #actor: OverloadActor = createActor(overloadMachine);

  /** @param onState told of each other state that it comes to */
  constructor(onState: (state: OverloadState) => void) {
    let before = this.#state;
    this.#actor.subscribe(({ value }) => {
      if (value !== before) onState(value);
      before = value;
    });
    this.#actor.start();
  }

  /** Once a second. @param lateMs after its time; `nowMs` is monotonic */
  look(lateMs: number, nowMs: number): void {
    const { lateLooks } = this.#actor.getSnapshot().context;
    if (lateMs >= LATE_MS) this.#actor.send({ type: 'look.late', nowMs });
    else if (lateLooks > 0 || this.areRaisesWaiting) this.#actor.send({ type: 'look.punctual', nowMs });
  }

  get areRaisesWaiting(): boolean {
    return this.#state !== 'none';
  }

  get areReadsRefused(): boolean {
    return this.#state === 'readsRefused';
  }

  get #state(): OverloadState {
    return this.#actor.getSnapshot().value;
  }
}
