// What came of runs as JUnit's XML, which every CI server shows: a suite of cases, each of which passed or failed.

export interface JunitCase {
  readonly name: string;
  /** What was not as expected, in words; undefined where the case passed. */
  readonly problem: string | undefined;
  /** How it is seen again. */
  readonly again: string;
}

export interface JunitSuite {
  readonly name: string;
  /** What the cases are of: the file of the scenario. */
  readonly path: string;
  readonly elapsedMs: number;
  readonly cases: readonly JunitCase[];
}

/** In the form that GitLab, GitHub's actions, Jenkins and Azure read: `testsuites` of one `testsuite`. */
export function junitXml({ name, path, elapsedMs, cases }: JunitSuite): string {
  const failures = cases.filter(({ problem }) => problem !== undefined).length;
  const totals = `tests="${cases.length}" failures="${failures}" errors="0" time="${(elapsedMs / 1000).toFixed(3)}"`;
  const lines = cases.map((each) => {
    const head = `    <testcase classname="${escaped(path)}" name="${escaped(each.name)}"`;
    if (each.problem === undefined) return `${head}/>`;
    return `${head}>\n      <failure message="${escaped(each.problem)}">${escaped(`again: ${each.again}`)}</failure>\n    </testcase>`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites ${totals}>
  <testsuite name="${escaped(name)}" ${totals}>
${lines.join('\n')}
  </testsuite>
</testsuites>
`;
}

/** Characters that XML 1.0 cannot say at all are left out. */
function escaped(text: string): string {
  return [...text]
    .filter((character) => /[\t\n\r\u0020-\ud7ff\ue000-\ufffd]/.test(character) || character.length > 1)
    .map((character) => (/[&<>"'\n\r\t]/.test(character) ? `&#${character.charCodeAt(0)};` : character))
    .join('');
}
