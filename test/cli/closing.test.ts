import t from 'tap'
import { closeInOrder } from '../../src/cli/closing.ts'
import { silentLog } from '../../src/kernel/log.ts'

const LONG_MS = 60_000

t.test('parts are closed one after the other, one that fails too', async (t) => {
  const closed: string[] = []
  const part = (name: string, error?: Error) => ({
    part: name,
    close: async () => {
      closed.push(name)
      if (error !== undefined) throw error
    },
  })
  const warned: object[] = []
  const logger = { ...silentLog, warn: (fields: object) => void warned.push(fields) }
  const failure = new Error('away')
  const parts = [part('gateway'), part('projector', failure), part('stores')]
  const giveUp = () => t.fail('it had time')
  await closeInOrder(parts, { logger, withinMs: LONG_MS, giveUp })
  t.same(closed, ['gateway', 'projector', 'stores'])
  t.same(warned, [{ part: 'projector', err: failure }])
})

t.test('a part that hangs is named, and the process is given up', async (t) => {
  const said: (readonly [object, string])[] = []
  const logger = {
    ...silentLog,
    error: (fields: object, message: string) => void said.push([fields, message]),
  }
  const closed: string[] = []
  const parts = [
    { part: 'gateway', close: async () => void closed.push('gateway') },
    { part: 'projector', close: () => new Promise<void>(() => undefined) },
    { part: 'stores', close: async () => void closed.push('stores') },
  ]
  await new Promise<void>((resolve) => {
    void closeInOrder(parts, { logger, withinMs: 1, giveUp: resolve })
  })
  t.same(said, [[{ waitsFor: 'projector', withinMs: 1 }, 'stopping took too long']])
  t.same(closed, ['gateway'])
})
