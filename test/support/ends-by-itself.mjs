// Loaded into a service: its end is left to the event loop, so that a handle which is still open keeps it and is named.
const exit = process.exit.bind(process);

process.exit = (code) => {
  process.exitCode = code;
  setTimeout(() => {
    process.stderr.write(`kept by ${process.getActiveResourcesInfo().join(', ')}\n`);
    exit(99);
  }, 5000).unref();
};
