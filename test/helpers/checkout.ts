import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Whether this is the compiled copy of the tests, which `npm test` runs. */
const compiled = import.meta.url.endsWith('.js')

/** The checkout's folder; the compiled copy is in a folder below it. */
export const checkout = new URL(compiled ? '../../../' : '../../', import.meta.url)

/** The folder of the program as it is released, built beside the compiled tests; sources have none. */
export const compiledProduct = compiled
  ? fileURLToPath(new URL('../../product/', import.meta.url))
  : undefined

/**
 * Arguments with which node runs a module, given as `new URL('x.ts', import.meta.url)`, as a
 * separate process: a source goes through tsx, a compiled module, which has another file extension,
 * does not. For processes of the program itself it is the released form, which starts sooner.
 */
export function nodeArguments(module: URL): readonly string[] {
  const path = fileURLToPath(module)
  if (compiledProduct === undefined) return [`--import=${import.meta.resolve('tsx')}`, path]
  const script = path.replace(/\.ts$/, '.js')
  const compiledTests = fileURLToPath(new URL('../../', import.meta.url))
  const bundled = [compiledProduct, fileURLToPath(new URL('../../children/', import.meta.url))]
    .map((folder) => script.replace(compiledTests, folder))
    .find((one) => existsSync(one))
  return [bundled ?? script]
}
