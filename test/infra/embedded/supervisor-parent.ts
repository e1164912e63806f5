import { superviseChild } from '../../../infra/embedded/supervised-child.ts'

/** A process to be killed: supervises `MODULE ARGUMENTS…` and prints the child's first message with its pid. */

const [module = '', ...args] = process.argv.slice(2)
const child = superviseChild({
  name: 'child',
  modulePath: new URL(module),
  args: () => args,
  onLine: () => undefined,
  readyTimeoutMs: 60_000,
})
const message = await child.ready
process.stdout.write(`${JSON.stringify({ ...message, childPid: child.pid() })}\n`)
