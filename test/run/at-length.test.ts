import { existsSync } from 'node:fs'
import t from 'tap'
import { checkout } from '../helpers/checkout.ts'
import { onlyAtLength } from './at-length.ts'

t.test('what is left to the long run exists, and so does what shows its heart', async (t) => {
  const isFile = (name: string) => existsSync(new URL(`test/${name}.test.ts`, checkout))
  for (const [left, shown] of Object.entries(onlyAtLength)) {
    t.ok(isFile(left), left)
    t.ok(isFile(shown), shown)
    t.notOk(shown in onlyAtLength, `${shown} runs in npm test`)
  }
})
