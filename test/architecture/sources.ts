import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkout } from '../helpers/checkout.ts'

const root = fileURLToPath(checkout)

export interface SourceFile {
  readonly path: string
  readonly text: string
  readonly imports: readonly string[]
}

function listFiles(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /(?<!\.d)\.tsx?$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
}

/** Every relative module a file names, static or dynamic, types included, as a path in the repository. */
function readSource(path: string): SourceFile {
  const text = readFileSync(join(root, path), 'utf8')
  const specifiers = [
    ...text.matchAll(/(?:^|\n)\s*(?:import|export)\s[^'"]*?from\s*['"](\.[^'"]+)['"]/g),
    ...text.matchAll(/(?:^|\n)\s*import\s*['"](\.[^'"]+)['"]/g),
    ...text.matchAll(/\bimport\(\s*['"](\.[^'"]+)['"]\s*\)/g),
  ].map((match) => match[1] ?? '')
  const imports = specifiers.map((name) =>
    normalize(join(dirname(path), name))
      .split(sep)
      .join('/'),
  )
  return { path, text, imports }
}

/** Every source file, and what each names. */
export const sources = ['src', 'projections', 'infra'].flatMap(listFiles).map(readSource)
