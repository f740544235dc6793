// Replaces the bundled command and prints its arguments.
process.stdout.write(`${process.argv.slice(2).join(' ')}\n`);
