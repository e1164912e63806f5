import { createServer } from 'node:net'
import { writeFileSync } from 'node:fs'
import {
  announceFailure,
  announceReady,
  logLine,
  onStopRequest,
} from '../../../infra/embedded/child.ts'
import { giveSigns } from '../../../infra/embedded/signs-of-life.ts'

/** A small child for the supervisor's tests: `supervisor-child.ts MODE PORT [FILE]`. */

const [mode = '', port = '0', file = ''] = process.argv.slice(2)

function serve(): void {
  const server = createServer((socket) => socket.end('served'))
  server.listen(Number(port), '127.0.0.1', () => {
    const address = server.address()
    const actual = typeof address === 'object' && address !== null ? address.port : 0
    announceReady(`tcp://127.0.0.1:${actual}`, {
      port: actual,
      pid: process.pid,
      secret: process.env['TOLLGATE_TEST_SECRET'] ?? 'none',
      extra: process.env['EXTRA'] ?? 'none',
    })
  })
}

logLine('info', 'child starts', { mode })
if (mode === 'refuse') {
  announceFailure('the disk is made of cheese')
  process.exit(1)
}
if (mode === 'crash') throw new Error('an unexpected bug')
if (mode === 'deaf') process.on('SIGTERM', () => logLine('warn', 'not listening'))
else {
  onStopRequest((why) => {
    if (file !== '') writeFileSync(file, why)
    process.exit(0)
  })
}
if (mode === 'hang') {
  giveSigns()
  // Nothing runs any more in this process, and it does not end.
  setTimeout(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0), 1_000)
}
if (mode === 'silent') setInterval(() => undefined, 1_000)
else serve()
if (mode === 'once' && port !== '0') {
  announceFailure('only the first start works')
  process.exit(1)
}
