import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { checkout } from '../helpers/checkout.ts'

/** Code that V8 compiled of a build, which a stopping gateway leaves in the folder of the build. */

const run = promisify(execFile)
const bundler = JSON.stringify(new URL('infra/bundle.js', checkout))

/** Builds modules behind `env`, so that a test runner's hooks stay out of it. */
async function build(folder: string, ...modules: readonly string[]): Promise<void> {
  const script = `import { bundle } from ${bundler}; await bundle(process.argv[1], process.argv.slice(2))`
  const node = [process.execPath, '--input-type=module', '-e', script, folder, ...modules]
  await run('env', ['-i', `PATH=${process.env['PATH'] ?? ''}`, ...node])
}

t.test(
  'compiled code stays when the same is built again, and is removed with another build',
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'tollgate-bundle-'))
    t.teardown(() => rm(folder, { recursive: true, force: true }))
    const compiled = join(folder, 'compiled', 'some')
    // Both load the one of time zones, so that the build has a chunk.
    const modules = ['src/kernel/read-zone.ts', 'src/kernel/daily-time.ts']
    await build(folder, ...modules)
    await mkdir(join(folder, 'compiled'))
    await writeFile(compiled, 'code')
    await build(folder, ...modules)
    t.ok(existsSync(compiled), 'the same build')
    await build(folder, 'src/kernel/read-zone.ts')
    t.notOk(existsSync(compiled), 'another build')
  },
)
