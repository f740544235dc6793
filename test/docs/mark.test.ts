// The rig finds blocks without a mark and documents with wrong output.
import { describe, expect, it } from 'vitest';
import { blocksOf } from './document.js';
import { parseMark } from './mark.js';

describe('A fenced block', () => {
  it.each([
    ['run', { kind: 'run', session: '', timeoutSeconds: 30 }],
    ['run=tour timeout=90', { kind: 'run', session: 'tour', timeoutSeconds: 90 }],
    ['run until="event: power"', { kind: 'run', session: '', until: 'event: power', timeoutSeconds: 30 }],
    ['start', { kind: 'start', session: '', timeoutSeconds: 30 }],
    ['file=sites.yaml', { kind: 'file', name: 'sites.yaml' }],
    ['response', { kind: 'response', live: false }],
    ['response live', { kind: 'response', live: true }],
    ['excerpt=cli/demo/harbour.yaml', { kind: 'excerpt', path: 'cli/demo/harbour.yaml' }],
    ['shown: needs docker', { kind: 'shown', reason: 'needs docker' }],
  ])('may have the mark %s', (info, mark) => {
    expect(parseMark(info)).toEqual(mark);
  });

  it.each(['', 'shown', 'shown:', 'file', 'ran', 'run later', 'response=live', 'run until=', 'run; rm'])(
    'with the mark "%s" is refused',
    (info) => {
      expect(() => parseMark(info)).toThrow();
    },
  );

  it('is found with its language, mark and line, also in a list and around other fences', () => {
    const text = [
      ...[
        'text',
        '```sh run',
        'echo 1',
        '',
        'echo 2',
        '```',
        '- item',
        '  ```json response',
        '  {}',
        '  ```',
      ],
      ...['~~~', '```', '~~~'],
    ];
    expect(blocksOf(text.join('\n'))).toEqual([
      { language: 'sh', info: 'run', line: 2, text: 'echo 1\n\necho 2\n' },
      { language: 'json', info: 'response', line: 8, text: '{}\n' },
      { language: '', info: '', line: 11, text: '```\n' },
    ]);
  });

  it('without an end is refused', () => {
    expect(() => blocksOf('```sh run\necho 1\n')).toThrow('line 1');
  });
});
