// Counts the due answers of a request listener, so that the listener can end after the last one.
import type { ServerResponse } from 'node:http';

export class DueAnswers {
  readonly #answered: Promise<void>;
  readonly #tell: () => void;
  #isEnding = false;
  #due = 0;

  constructor() {
    let tell = () => {};
    this.#answered = new Promise((resolve) => {
      tell = resolve;
    });
    this.#tell = tell;
  }

  take(response: ServerResponse): void {
    this.#due++;
    response.on('close', () => {
      this.#due--;
      this.#look();
    });
  }

  /** Resolves after the last due answer. */
  end(): Promise<void> {
    this.#isEnding = true;
    this.#look();
    return this.#answered;
  }

  #look(): void {
    if (this.#isEnding && this.#due === 0) this.#tell();
  }
}
