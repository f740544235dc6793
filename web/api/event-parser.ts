// Parses server-sent events from the pieces of a stream.

/** Takes pieces of text; calls `onEvent` with the name and data of each complete event. */
export function createEventParser(onEvent: (name: string, data: string) => void): (text: string) => void {
  let unfinished = '';
  return (text) => {
    const blocks = (unfinished + text).split('\n\n');
    unfinished = blocks.pop() ?? '';
    for (const block of blocks) {
      let name = 'message';
      const data: string[] = [];
      for (const line of block.split('\n')) {
        if (line.startsWith('event: ')) name = line.slice(7);
        else if (line.startsWith('data: ')) data.push(line.slice(6));
      }
      if (data.length > 0) onEvent(name, data.join('\n'));
    }
  };
}
