import t from 'tap'
import { createLibraryConcurrency } from '../../../src/app/assets/library-concurrency.ts'

t.test('each library has a limit of concurrent requests by callers', async (t) => {
  const concurrency = createLibraryConcurrency(2)
  const ends: (() => void)[] = []
  const slow = (channelId: string) =>
    concurrency.run(channelId, () => new Promise<void>((resolve) => ends.push(resolve)))
  const first = [slow('one'), slow('one')]
  await t.rejects(slow('one'), { code: 'overloaded' })
  const other = slow('other')
  for (const end of ends) end()
  await Promise.all([...first, other])
  await t.rejects(
    concurrency.run('one', () => Promise.reject(new Error('failed'))),
    { message: 'failed' },
  )
  t.equal(await concurrency.run('one', async () => 'done'), 'done', 'every place was given back')
})
