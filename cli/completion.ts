// `headroom completion`: a script with which a shell completes commands, flags and their values. It calls the hidden
// `headroom complete -- WORD…` at each Tab.
import type { RootCommand } from '@bomb.sh/tab';
import { Argument, Command } from 'commander';

const ABOUT = 'print a script that completes commands and flags in your shell';
const SHELLS = ['bash', 'zsh', 'fish'] as const;
const NAME = 'headroom';

const INSTALLATION = `
Load it in each new shell:
  bash   echo 'source <(headroom completion bash)' >> ~/.bashrc
  zsh    echo 'source <(headroom completion zsh)' >> ~/.zshrc, below compinit
  fish   headroom completion fish > ~/.config/fish/completions/headroom.fish`;

/** The script needs this function of the package bash-completion, which many machines lack. */
const WORDS_OF_BASH = `if ! declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref() {
        words=("\${COMP_WORDS[@]}") cword=$COMP_CWORD
        cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]}
    }
fi
`;

/** Directives of the scripts: file names may follow, or not. */
const [FILES, NO_FILES] = [':0', ':4'];

async function printScript(shell: (typeof SHELLS)[number]): Promise<void> {
  const { script } = await import('@bomb.sh/tab');
  const text = linesOf(() => script(shell, NAME, NAME)).join('\n');
  process.stdout.write(`${shell === 'bash' ? forBash(text) : text}\n`);
}

/** Bash refuses to read constants twice, and completes file names only where `default` is set before. */
function forBash(text: string): string {
  const again = text.replace(/^readonly /gm, '').replace('complete -F', 'complete -o default -F');
  return WORDS_OF_BASH + again;
}

/** The lines that `work` prints: the library has no other way out. */
function linesOf(work: () => void): readonly string[] {
  const { log } = console;
  const lines: string[] = [];
  console.log = (line: unknown) => void lines.push(String(line));
  try {
    work();
  } finally {
    console.log = log;
  }
  return lines;
}

/** Prints the completions of the last word. @param commandsFor all commands, the one that the words name loaded */
async function complete(
  words: readonly string[],
  commandsFor: (words: readonly string[]) => Promise<readonly Command[]>,
): Promise<void> {
  const program = new Command(NAME);
  for (const command of await commandsFor(words))
    if (command.name() !== 'completion') program.addCommand(command);
  const { default: tab } = await import('@bomb.sh/tab/commander');
  const root: RootCommand = tab(program, { completionCommandName: 'completion' });
  root.command('completion', ABOUT).argument('shell', (add) => {
    for (const shell of SHELLS) add(shell, '');
  });
  const lines = linesOf(() => root.parse([...words]));
  const isFile = lines.length === 1 && lines[0] === NO_FILES && !words.at(-1)?.startsWith('-');
  process.stdout.write(`${isFile ? FILES : lines.join('\n')}\n`);
}

export function completionCommand(): Command {
  return new Command('completion')
    .description(ABOUT)
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .addHelpText('after', INSTALLATION)
    .action(printScript);
}

/** Its words follow `--`, so that none of them is taken for a flag of its own. */
export function completeCommand(
  commandsFor: (words: readonly string[]) => Promise<readonly Command[]>,
): Command {
  return new Command('complete')
    .description('print completions')
    .argument('[word...]')
    .action((words: readonly string[]) => complete(words, commandsFor));
}
