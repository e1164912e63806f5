import childProcess from 'node:child_process'
import { syncBuiltinESMExports } from 'node:module'
import { supervisePostgres } from '../../../../infra/embedded/postgres/supervised.ts'

/**
 * A process that stands for the gateway, to be killed: supervises Postgres on `ROOT` and prints its address. SIGTERM
 * stops it in order. With `STARTS` it kills itself as soon as it has started that many programs.
 */
const [root = '', starts] = process.argv.slice(2)
if (starts !== undefined) {
  const { spawn } = childProcess
  let left = Number(starts)
  childProcess.spawn = new Proxy(spawn, {
    apply(target, self, args) {
      const child: unknown = Reflect.apply(target, self, args)
      left -= 1
      if (left === 0) process.kill(process.pid, 'SIGKILL')
      return child
    },
  })
  syncBuiltinESMExports()
}
const postgres = supervisePostgres({ root, log: () => undefined })
process.on('SIGTERM', () => void postgres.stop().then(() => process.exit(0)))
const { url } = await postgres.ready
process.stdout.write(`${url}\n`)
