// Says how many tests passed, failed and were skipped in vitest's JSON reports together; a file that did not load failed.
import { readFileSync } from 'node:fs';

function countOf(path) {
  let report;
  try {
    report = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return { passed: 0, failed: 1, skipped: 0 };
  }
  const notLoaded = report.testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && assertionResults.every((test) => test.status !== 'failed'),
  ).length;
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + notLoaded,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

const counts = process.argv.slice(2).map(countOf);
const sum = (kind) => counts.reduce((total, count) => total + count[kind], 0);
process.stdout.write(`${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped\n`);
process.exit(sum('failed') > 0 || counts.length === 0 || counts.some(({ passed }) => passed === 0) ? 1 : 0);
