import { once } from 'node:events'
import t from 'tap'
import { eventually } from '../helpers/eventually.ts'
import { launch } from './support/tollgate.ts'

t.test('a sandbox that dies restarts at the same address', async (t) => {
  const child = await launch(['sandbox'], {})
  t.teardown(() => child.kill('SIGKILL'))
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  child.stdout.resume()
  const url = await eventually('its address', () => /ready at (http\S+)/.exec(said)?.[1])
  const pid = Number(/"pid":(\d+)/.exec(said)?.[1])
  t.not(pid, child.pid)
  process.kill(pid, 'SIGKILL')
  await eventually('the restart', () => (said.includes('the sandbox restarts') ? true : undefined))
  await eventually('an answer at the same address', () =>
    fetch(`${url}/__sandbox/requests`).then(
      ({ ok }) => (ok ? true : undefined),
      () => undefined,
    ),
  )
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  t.same(await exited, [0, null])
})
