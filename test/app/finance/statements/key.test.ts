import t from 'tap'
import { readIssuer } from '../../../../src/app/finance/statements/issuer.ts'
import { startKeyPublication, statementSigner } from '../../../../src/app/finance/statements/key.ts'
import type { EventLog } from '../../../../src/eventlog/log/types.ts'
import { systemClock } from '../../../../src/kernel/clock.ts'
import { DomainError } from '../../../../src/kernel/errors.ts'
import { silentLog } from '../../../../src/kernel/log.ts'
import { openNote } from '../../../../src/kernel/signed-note.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { testEventLog } from '../../../helpers/eventstore.ts'

const { log, close } = await testEventLog()
t.teardown(close)
const keyOf = (secret: string) => statementSigner('gateway.example', secret)
const publish = (vkey: string, over: EventLog = log) => {
  const publication = startKeyPublication(
    { log: over, clock: systemClock, logger: silentLog },
    vkey,
  )
  t.teardown(publication.stop)
  return publication
}
const published = async () => (await readIssuer(log)).vkeys
const shown = (vkeys: readonly string[]) =>
  eventually(`${vkeys.length} keys`, async () => {
    const found = await published()
    return found.length >= vkeys.length ? found : undefined
  })

t.test('every replica signs with the key of the secret, under the name of the host', async (t) => {
  const [one, other] = [keyOf('a secret'), keyOf('another secret')]
  t.match(one.vkey, /^gateway\.example\/statements\+[0-9a-f]{8}\+/)
  t.equal(keyOf('a secret').vkey, one.vkey)
  t.not(other.vkey, one.vkey)
  const note = keyOf('a secret').sign('a text\n')
  t.equal(openNote(note, [one.vkey]), 'a text\n')
  t.throws(() => openNote(note, [other.vkey]))
})

t.test('two replicas at once publish a key once, and a new secret adds a key', async (t) => {
  const { vkey } = keyOf('a secret')
  const appended: number[] = []
  const counting: EventLog = {
    ...log,
    append: async (...given) => {
      const done = await log.append(...given)
      appended.push(1)
      return done
    },
  }
  publish(vkey, counting)
  publish(vkey, counting)
  t.same(await shown([vkey]), [vkey])
  publish(vkey, counting)
  const { vkey: next } = keyOf('another secret')
  publish(next, counting)
  t.same(await shown([vkey, next]), [vkey, next])
  t.equal(appended.length, 2)
})

t.test(
  'a log that takes no event is asked again, and a process that stops asks no more',
  async (t) => {
    const { vkey } = keyOf('a third secret')
    let refusals = 0
    const away: EventLog = {
      ...log,
      append: () => {
        refusals += 1
        return Promise.reject(new DomainError('log_unavailable', 'away', {}))
      },
    }
    const stopped = publish(vkey, away)
    await eventually('a refusal', () => (refusals > 0 ? true : undefined))
    await stopped.stop()
    t.notOk((await published()).includes(vkey))
    let left = 1
    const returning: EventLog = {
      ...log,
      append: (...given) => {
        left -= 1
        return left < 0 ? log.append(...given) : away.append(...given)
      },
    }
    publish(vkey, returning)
    t.equal((await shown(['', '', ''])).at(-1), vkey)
  },
)
