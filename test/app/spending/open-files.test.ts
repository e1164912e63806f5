import t from 'tap'
import { createOpenFiles } from '../../../src/app/spending/open-files.ts'

t.test('the downloads of one tenant leave places for other tenants', async (t) => {
  const { take } = createOpenFiles(4)
  const full = { code: 'overloaded' }
  const places = [take('one'), take('one')]
  t.throws(() => take('one'), full)
  places.push(take('two'))
  const last = take('three')
  t.throws(() => take('four'), full, 'in all')
  last()
  last()
  t.throws(() => take('one'), full, 'given back once, and to all')
  take('two')
  t.throws(() => take('four'), full)
  places[0]?.()
  take('one')
})
