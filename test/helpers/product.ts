import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { checkout, compiledProduct } from './checkout.ts'

/** The program as `npm run build` makes it. */
export interface Product {
  /** The gateway and its command line. */
  readonly main: string
  readonly sandbox: string
}

const root = fileURLToPath(checkout)
const BUILD_TIMEOUT_MS = 120_000
/** A build of other sources that nobody can be using any more. */
const STALE_MS = 3_600_000
const SOURCES = ['package-lock.json', 'src', 'projections', 'infra']

function productIn(folder: string): Product {
  return {
    main: join(folder, 'src', 'main.js'),
    sandbox: join(folder, 'infra', 'sandbox', 'main.js'),
  }
}

/** Builds into a folder, from which the checkout's libraries must be found. @throws with the bundler's words */
export async function buildProduct(folder: string): Promise<Product> {
  await mkdir(folder, { recursive: true })
  // Behind `env` a test runner's hooks stay out of it.
  const { PATH = '' } = process.env
  const build = [process.execPath, join(root, 'infra', 'bundle.js'), folder]
  await promisify(execFile)('env', ['-i', `PATH=${PATH}`, ...build], { timeout: BUILD_TIMEOUT_MS })
  await cp(join(root, 'package.json'), join(folder, 'package.json'))
  return productIn(folder)
}

async function keyOfSources(): Promise<string> {
  const hash = createHash('sha256')
  for (const source of SOURCES) {
    const path = join(root, source)
    const below = (await stat(path)).isDirectory()
      ? await readdir(path, { recursive: true, withFileTypes: true })
      : []
    const files = below.filter((entry) => entry.isFile())
    const paths = files.map((entry) => join(entry.parentPath, entry.name)).sort()
    for (const file of below.length === 0 ? [path] : paths)
      hash.update(file).update(await readFile(file))
  }
  return hash.digest('hex').slice(0, 16)
}

async function findOrBuild(): Promise<Product> {
  if (compiledProduct !== undefined) return productIn(compiledProduct)
  const cache = join(root, 'node_modules', '.cache', 'tollgate-product')
  const made = join(cache, await keyOfSources())
  if (existsSync(made)) return productIn(made)
  await mkdir(cache, { recursive: true })
  for (const name of await readdir(cache)) {
    const { mtimeMs } = await stat(join(cache, name)).catch(() => ({ mtimeMs: Infinity }))
    if (Date.now() - mtimeMs > STALE_MS)
      await rm(join(cache, name), { recursive: true, force: true })
  }
  // If several processes build the same product, one build is kept.
  const making = `${made}.${process.pid}`
  await buildProduct(making)
  await rename(making, made).catch(() => rm(making, { recursive: true, force: true }))
  return productIn(made)
}

let built: Promise<Product> | undefined

/** The program as users run it: built before the tests are, or else once until a source changes. */
export function builtProduct(): Promise<Product> {
  return (built ??= findOrBuild())
}
