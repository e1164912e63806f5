import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cp, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { checkout, compiledProduct } from '../../helpers/checkout.ts'
import { eventually } from '../../helpers/eventually.ts'

const ROOT = fileURLToPath(checkout)
const CACHE = join(ROOT, 'node_modules/.cache/tollgate-cli')
/** What is compiled; a build of other sources than the present ones is worth nothing. */
const SOURCES = ['src', 'projections', 'infra']
const BUILD_MS = 120_000
const OLD_MS = 3_600_000

/** Changes with every change of a source. */
async function keyOfSources(): Promise<string> {
  const hash = createHash('sha256')
  for (const folder of SOURCES) {
    const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true })
    for (const entry of entries) {
      if (!entry.isFile()) continue
      const path = join(entry.parentPath, entry.name)
      const { mtimeMs, size } = await stat(path)
      hash.update(`${path} ${mtimeMs} ${size}\n`)
    }
  }
  return hash.digest('hex').slice(0, 24)
}

async function exists(path: string): Promise<true | undefined> {
  return stat(path).then(
    () => true,
    () => undefined,
  )
}

async function build(directory: string): Promise<void> {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  const config = join(ROOT, 'tsconfig.build.json')
  const args = [...bare({}), process.execPath, tsc, '-p', config, '--outDir', directory]
  // Types are checked elsewhere: what it says of them does not matter here.
  const said = await promisify(execFile)('env', args).catch(String)
  await cp(join(ROOT, 'infra/pricebook.yaml'), join(directory, 'infra/pricebook.yaml'))
  await cp(join(ROOT, 'package.json'), join(directory, 'package.json'))
  if (!(await exists(join(directory, 'src/main.js'))))
    throw new Error(`not built: ${JSON.stringify(said)}`)
  await writeFile(join(directory, 'complete'), '')
}

async function removeOld(): Promise<void> {
  for (const name of await readdir(CACHE)) {
    const { mtimeMs } = await stat(join(CACHE, name)).catch(() => ({ mtimeMs: Infinity }))
    if (Date.now() - mtimeMs > OLD_MS) await rm(join(CACHE, name), { recursive: true, force: true })
  }
}

async function findOrBuild(): Promise<string> {
  if (compiledProduct !== undefined) return join(compiledProduct, 'src/main.js')
  const directory = join(CACHE, await keyOfSources())
  await mkdir(CACHE, { recursive: true })
  try {
    await mkdir(directory)
  } catch {
    // Somebody else of this run builds it, or has.
    await eventually('the build', () => exists(join(directory, 'complete')), BUILD_MS)
    return join(directory, 'src/main.js')
  }
  try {
    await removeOld()
    await build(directory)
  } catch (error) {
    await rm(directory, { recursive: true, force: true })
    throw error
  }
  return join(directory, 'src/main.js')
}

/**
 * Arguments of `env` for a program with this environment and what it needs to run at all. The
 * test runner writes itself into the environment of every child; behind `env -i` it cannot.
 */
export function bare(env: Readonly<Record<string, string>>): readonly string[] {
  const { PATH = '', HOME = '/' } = process.env
  const entries = Object.entries({ PATH, HOME, ...env })
  return ['-i', ...entries.map(([name, value]) => `${name}=${value}`)]
}

let built: Promise<string> | undefined

/** The program as it is installed: compiled once for all test files, and again when a source changed. */
export function builtMain(): Promise<string> {
  return (built ??= findOrBuild())
}
