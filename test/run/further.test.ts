import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { furtherFiles } from './further.ts'

/** Compiled modules of tests with what they import. */
const modules: Readonly<Record<string, readonly string[]>> = {
  'test/app/plain.test.js': ['../helpers/stack.js', '../../../src/main.js', 'tap'],
  'test/app/longer.test.js': ['../helpers/long-run.js'],
  'test/e2e/page.test.js': ['./support/round.js'],
  'test/e2e/support/round.js': ['./browser.js'],
  'test/e2e/support/browser.js': ['./round.js', '../../helpers/requirements.js'],
  'test/cli/backup.test.js': [],
  'test/kernel/money.test.js': [],
  'test/helpers/stack.js': [],
}

t.test('tests that do more at length, ask for programs or depend on Node run again', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-further-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  for (const [path, targets] of Object.entries(modules)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    const lines = targets.map((target) => `import { some } from '${target}'`)
    await writeFile(join(folder, path), lines.join('\n'))
  }
  const files = Object.keys(modules).filter((path) => path.endsWith('.test.js'))
  t.same(furtherFiles(folder, files), [
    'test/app/longer.test.js',
    'test/e2e/page.test.js',
    'test/cli/backup.test.js',
    'test/kernel/money.test.js',
  ])
})
