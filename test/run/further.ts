import { readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { isOnlyAtLength } from './at-length.ts'

/**
 * What is worth running again after `npm test`, at length and on another version of Node (`npm run test:further`): the
 * gate does, once a newcomer's `npm test` has passed.
 */

/** By these a test asks whether the run is long, or what the system has. */
const asked = new Set(['test/helpers/long-run.js', 'test/helpers/requirements.js'])

/** What versions of Node differ in: HTTP, sockets, files, processes, cryptography, languages, options of V8. */
const byNode = [
  'test/api/kit/',
  'test/api/query/line-files',
  'test/contract/',
  'test/eventlog/',
  'test/infra/embedded/',
  'test/kernel/',
  'test/platform/',
  'test/start/',
  'test/storage/',
]

const IMPORT = /\b(?:from|import)\s*\(?\s*['"](\.{1,2}\/[^'"]+)['"]/g

/**
 * Which compiled test files of a folder do otherwise at length, need something of the system, or may depend on the
 * version of Node.
 */
export function furtherFiles(folder: string, paths: readonly string[]): readonly string[] {
  const imports = new Map<string, readonly string[]>()
  const importsOf = (path: string): readonly string[] => {
    const found = imports.get(path) ?? readImports(folder, path)
    imports.set(path, found)
    return found
  }
  const asks = (path: string): boolean => {
    const reached = new Set([path])
    for (const module of reached) {
      if (asked.has(module)) return true
      for (const target of importsOf(module)) reached.add(target)
    }
    return false
  }
  return paths.filter(
    (path) =>
      isOnlyAtLength(path) || byNode.some((prefix) => path.startsWith(prefix)) || asks(path),
  )
}

/** The modules of the tests that a compiled one imports. */
function readImports(folder: string, path: string): readonly string[] {
  const text = readFileSync(join(folder, path), 'utf8')
  return [...text.matchAll(IMPORT)]
    .map(([, target = '']) => relative(folder, resolve(folder, dirname(path), target)))
    .filter((target) => target.startsWith('test/') && target.endsWith('.js'))
}
