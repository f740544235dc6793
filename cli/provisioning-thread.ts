// Entry point of a thread that parses one provisioning file.
import { parentPort, workerData } from 'node:worker_threads';
import { OperatorError } from '../src/ports/operator-error.js';
import { parseProvisioning } from '../src/provisioning/parse-provisioning.js';
import type { ParseOutcome, ParseTask } from './followed-provisioning.js';

const { text, path }: ParseTask = workerData;

function parse(): ParseOutcome {
  try {
    return { file: parseProvisioning(text, path) };
  } catch (error) {
    // A thread passes on no classes.
    if (error instanceof OperatorError) return { refusal: error.message };
    throw error;
  }
}

parentPort?.postMessage(parse());
