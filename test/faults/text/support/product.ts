import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { lockDirectory } from '../../../../infra/embedded/directory-lock.ts'
import { checkout, compiledProduct } from '../../../helpers/checkout.ts'
import { build, type Build } from '../../driver/build.ts'

/** The product as users run it, built once for all files of a run and until the sources change. */

const root = fileURLToPath(checkout)
const SOURCES = ['src', 'projections', 'infra']
const SINGLE_FILES = ['package.json', 'tsconfig.json', 'tsconfig.build.json']
const LOCK_WAIT_MS = 120_000
/** A build of other sources that nobody can be using any more. */
const STALE_MS = 1_800_000

async function sourceFiles(): Promise<readonly string[]> {
  const found = [...SINGLE_FILES]
  for (const folder of SOURCES)
    for (const entry of await readdir(join(root, folder), { recursive: true, withFileTypes: true }))
      if (entry.isFile()) found.push(join(entry.parentPath, entry.name).slice(root.length))
  return found.sort()
}

async function hashOfSources(): Promise<string> {
  const hash = createHash('sha256')
  for (const path of await sourceFiles()) hash.update(path).update(await readFile(join(root, path)))
  return hash.digest('hex').slice(0, 16)
}

async function removeStale(folder: string, current: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith('build-') || name === current) continue
    const path = join(folder, name)
    if (Date.now() - (await stat(path)).mtimeMs > STALE_MS)
      await rm(path, { recursive: true, force: true })
  }
}

/** What the tests run of it. */
export interface Product extends Build {
  readonly eventStore: string
}

function productIn(folder: string): Product {
  return {
    main: join(folder, 'src', 'main.js'),
    sandbox: join(folder, 'infra', 'sandbox', 'main.js'),
    eventStore: join(folder, 'infra', 'embedded', 'eventstore', 'main.js'),
  }
}

/** Builds unless the same sources were built before. @throws with the compiler's words */
export async function builtOnce(): Promise<Product> {
  if (compiledProduct !== undefined) return productIn(compiledProduct)
  const checkout = createHash('sha256').update(root).digest('hex').slice(0, 8)
  const folder = join(tmpdir(), `tollgate-faults-${process.getuid?.() ?? 0}-${checkout}`)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const lock = await lockDirectory(folder, LOCK_WAIT_MS)
  try {
    const name = `build-${await hashOfSources()}`
    const made = join(folder, name)
    await removeStale(folder, name)
    if (!existsSync(made)) {
      const making = join(folder, 'making')
      await rm(making, { recursive: true, force: true })
      await mkdir(making)
      await build(making)
      await rename(making, made)
    }
    return productIn(join(made, 'dist'))
  } finally {
    await lock.release()
  }
}
