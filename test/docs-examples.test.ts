import { readdirSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { shell } from './cli/support/tollgate.ts'
import { checkout } from './helpers/checkout.ts'
import { difference, firstExample, pageText, printedCalls } from './helpers/printed-calls.ts'
import { startStack } from './helpers/stack.ts'

/** Each page of a surface begins with a call and its answer; they are pasted here, one page after the other. */

const MAX_LINES = 250
/** A title, what the page is about, and then the call. */
const MAX_LINES_BEFORE = 12

const stack = await startStack({ env: { OBJECT_STORAGE: 'local' } })
t.teardown(() => stack.stop())
const folder = await mkdtemp(join(tmpdir(), 'tollgate-docs-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
// As the first start writes it.
await mkdir(join(folder, 'data'))
const { modelToken, profileToken, queryToken, adminToken } = stack.demo
await writeFile(
  join(folder, 'data', 'demo.json'),
  JSON.stringify({ modelToken, profileToken, queryToken, adminToken }),
)

/** Their answers show what a tenant has before it has called anything. */
const first = ['query.md', 'user.md']
const others = readdirSync(new URL('docs/surfaces/', checkout)).filter(
  (name) => !first.includes(name),
)

t.test('the first call of each page works when pasted, and answers as printed', async (t) => {
  t.ok(others.length >= 20, `${others.length} pages`)
  for (const name of [...first, ...others]) {
    const text = pageText(`docs/surfaces/${name}`)
    t.ok(text.split('\n').length - 1 <= MAX_LINES, `${name} has at most ${MAX_LINES} lines`)
    const example = firstExample(text)
    if (example === undefined) {
      t.fail(`${name} begins with no call and answer`)
      continue
    }
    t.ok(example.lineNumber <= MAX_LINES_BEFORE, `${name} begins with them`)
    const call = printedCalls(example.call, stack.url)
    // A page may show how far the read models are.
    await stack.caughtUp()
    const { code, stdout } = await shell(
      `curl() { command curl --silent --show-error "$@"; }\n${call}`,
      folder,
    )
    t.equal(code, 0, `${name}: ${stdout}`)
    const got: unknown = typeof example.answer === 'string' ? stdout.trim() : JSON.parse(stdout)
    t.equal(difference(example.answer, got), undefined, name)
  }
})
