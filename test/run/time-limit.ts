import { readFileSync } from 'node:fs'

/**
 * The seconds that a test file may take: `tap.timeout` of `package.json`, unless `TAP_TIMEOUT` says otherwise. A file
 * has the same limit alone, with some others and in the whole run, so that a busy machine fails none of them early.
 */
export const timeLimitS = Number(process.env['TAP_TIMEOUT'] ?? limitOfPackage())

function limitOfPackage(): number {
  const file = new URL('../../package.json', import.meta.url)
  const { tap } = JSON.parse(readFileSync(file, 'utf8')) as { readonly tap: { timeout: number } }
  return tap.timeout
}

// tap reads the variable when it is loaded; without it a file has 30 s.
process.env['TAP_TIMEOUT'] = String(timeLimitS)
