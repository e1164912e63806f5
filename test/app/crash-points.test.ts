import t from 'tap'
import { crashPointFrom } from '../../src/app/crash-points.ts'

t.test('without the setting no crash point kills the process', async (t) => {
  crashPointFrom(undefined)('create.after-provider')
  crashPointFrom('')('create.after-provider')
  t.pass('still here')
})

t.test('a crash point kills at the n-th hit of its own name only', async (t) => {
  let deaths = 0
  const point = crashPointFrom('create.after-provider:2', () => {
    deaths += 1
  })
  point('create.after-requested')
  point('create.after-provider')
  t.equal(deaths, 0)
  point('create.after-provider')
  t.equal(deaths, 1)
})

t.test('an unknown point or count is refused', async (t) => {
  t.throws(() => crashPointFrom('create.nowhere'), /no crash point/)
  t.throws(() => crashPointFrom('create.after-provider:0'), /count/)
  t.throws(() => crashPointFrom('create.after-provider:x'), /count/)
})
