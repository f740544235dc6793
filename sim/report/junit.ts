// Writes the results of runs as JUnit XML, which every CI server can show: a suite of passed and failed cases.

export interface JunitCase {
  readonly name: string;
  /** The problem as text; undefined if the case passed. */
  readonly problem: string | undefined;
  /** The command that repeats the case. */
  readonly again: string;
}

export interface JunitSuite {
  readonly name: string;
  /** The scenario file. */
  readonly path: string;
  readonly elapsedMs: number;
  readonly cases: readonly JunitCase[];
}

/** In the form that GitLab, GitHub Actions, Jenkins and Azure read: `testsuites` with one `testsuite`. */
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

/** Drops characters that XML 1.0 cannot represent. */
function escaped(text: string): string {
  return [...text]
    .filter((character) => /[\t\n\r\u0020-\ud7ff\ue000-\ufffd]/.test(character) || character.length > 1)
    .map((character) => (/[&<>"'\n\r\t]/.test(character) ? `&#${character.charCodeAt(0)};` : character))
    .join('');
}
