// Says how many tests passed, failed and were skipped, from vitest's JSON report; a file that did not load failed.
import { readFileSync } from 'node:fs';

let report;
try {
  report = JSON.parse(readFileSync(process.argv[2], 'utf8'));
} catch {
  report = { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0, testResults: [] };
  report.testResults.push({ status: 'failed', assertionResults: [] });
}
const notLoaded = report.testResults.filter(
  ({ status, assertionResults }) =>
    status === 'failed' && assertionResults.every((test) => test.status !== 'failed'),
).length;
const failed = report.numFailedTests + notLoaded;
const skipped = report.numPendingTests + report.numTodoTests;
process.stdout.write(`${report.numPassedTests} passed, ${failed} failed, ${skipped} skipped\n`);
process.exit(failed > 0 || report.numPassedTests === 0 ? 1 : 0);
