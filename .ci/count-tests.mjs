// Prints the tests that failed in vitest's JSON reports, and the totals of passed, failed and skipped ones. A file that
// did not load counts as failed.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

function countOf(path) {
  let report;
  try {
    report = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    return { passed: 0, failures: [`${path}: ${error.message}`], skipped: 0 };
  }
  return {
    passed: report.numPassedTests,
    failures: report.testResults.flatMap(failuresOf),
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

/** The failures of a file, a line each: the test's name and the beginning of its message. */
function failuresOf({ name, status, message, assertionResults }) {
  const failed = assertionResults.filter((test) => test.status === 'failed');
  const file = relative(process.cwd(), name);
  if (status === 'failed' && failed.length === 0) return [`${file}: ${beginningOf(message)}`];
  return failed.map((test) => `${file} > ${test.fullName}: ${beginningOf(test.failureMessages.join(' '))}`);
}

function beginningOf(message) {
  return message.replaceAll(/\s+/g, ' ').slice(0, 600);
}

const counts = process.argv.slice(2).map(countOf);
const sum = (kind) => counts.reduce((total, count) => total + count[kind], 0);
const failures = counts.flatMap((count) => count.failures);
for (const failure of failures) process.stdout.write(`FAILED ${failure}\n`);
process.stdout.write(`${sum('passed')} passed, ${failures.length} failed, ${sum('skipped')} skipped\n`);
process.exit(failures.length > 0 || counts.length === 0 || counts.some(({ passed }) => passed === 0) ? 1 : 0);
