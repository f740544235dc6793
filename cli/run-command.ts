// Runs the requested sub-command, and maps errors to messages and exit codes.
import { Command } from 'commander';
import { VERSION } from '../src/version.js';
import { EXIT_CODES_HELP, FAILED, NOT_BEGUN } from './exit-codes.js';

/** An error that commander finds in the arguments ends the process with the exit code of all other mistakes. */
function endWithOurCodes(command: Command): void {
  command.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : NOT_BEGUN));
  for (const each of command.commands) endWithOurCodes(each);
}

function endUnlessReaderLeft(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return;
  process.stderr.write(`headroom: the output cannot be written: ${error.message}\n`);
  process.exit(FAILED);
}

/** For a command that must continue even if its output cannot be written. */
export function goOnWithoutOutput(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.off('error', endUnlessReaderLeft).on('error', () => {});
}

/** Parses the arguments of the process and runs the requested one of `commands`. */
export async function runCommand(commands: readonly Command[]): Promise<void> {
  const program = new Command('headroom')
    .description('Headroom keeps electric-vehicle charging within the power that a site has.')
    .version(VERSION)
    .addHelpText('afterAll', EXIT_CODES_HELP);
  for (const command of commands) program.addCommand(command);
  endWithOurCodes(program);

  // The reader of the output may leave first, as `| head` does. The command still finishes its work, and its exit code
  // reports the result.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', endUnlessReaderLeft);

  try {
    await program.parseAsync();
  } catch (error) {
    const { exitCodeOf, explain } = await import('./operator-error.js');
    process.stderr.write(`${explain(error)}\n`);
    process.exit(exitCodeOf(error));
  }
}
