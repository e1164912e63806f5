import { fileURLToPath } from 'node:url'

/** Whether this is the compiled copy of the tests, which `npm test` runs. */
const compiled = import.meta.url.endsWith('.js')

/** The checkout's folder; the compiled copy stands in a folder of it. */
export const checkout = new URL(compiled ? '../../../' : '../../', import.meta.url)

/** The folder of the compiled product that compiled tests stand in; sources have none. */
export const compiledProduct = compiled
  ? fileURLToPath(new URL('../../', import.meta.url))
  : undefined

/**
 * What node is told to run a module, given as `new URL('x.ts', import.meta.url)`, as a process of its own: a source
 * goes through tsx, a compiled one, whose name ends otherwise, does not.
 */
export function nodeArguments(module: URL): readonly string[] {
  const path = fileURLToPath(module)
  return compiled ? [path.replace(/\.ts$/, '.js')] : ['--import=tsx', path]
}
