// Stands in for the bundled command: prints its arguments.
process.stdout.write(`${process.argv.slice(2).join(' ')}\n`);
