import { prepareDataDir } from '../../../infra/embedded/data-dir.ts'

/** Takes a data directory and keeps it: `data-dir-holder.ts DIR [unprivileged]`. Prints the outcome. */

const [directory = '', as = ''] = process.argv.slice(2)
const UNPRIVILEGED = 65_534

// Modes do not bind root, so the fixture stops being root before it tries.
if (as === 'unprivileged' && process.getuid?.() === 0) {
  process.setegid?.(UNPRIVILEGED)
  process.seteuid?.(UNPRIVILEGED)
}
try {
  await prepareDataDir(directory)
  process.stdout.write('held\n')
  setInterval(() => undefined, 1_000)
} catch (error) {
  process.stdout.write(`${error instanceof Error ? error.message : String(error)}\n`)
}
if (process.getuid?.() === 0) {
  process.seteuid?.(0)
  process.setegid?.(0)
}
