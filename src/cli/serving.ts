import module from 'node:module'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { loadConfig, passOn } from '../config.ts'
import { programFile } from '../platform/program-files.ts'
import { boundHeapGrowth } from '../platform/v8-flags.ts'

/** Where V8 finds what an earlier process compiled; a variable of Node's, which child processes inherit. */
const COMPILED = 'NODE_COMPILE_CACHE'

/**
 * Keeps what V8 compiles of a build in a folder of that build, which the next build removes. A
 * process writes there when it ends. V8 takes back only what was compiled under the same flags, so
 * they are set before. An installation that cannot be written to has no such folder and starts as
 * if there were none, and so does Node before version 22.
 */
function keepCompiledCode(): void {
  const enable: unknown = Reflect.get(module, 'enableCompileCache')
  if (typeof enable !== 'function' || !import.meta.url.endsWith('.js')) return
  const folder = fileURLToPath(programFile('compiled'))
  enable(folder)
  passOn(COMPILED, folder)
}

/**
 * Registers `tollgate serve`. What it does is in a file apart, since V8 takes flags and its folder
 * only before the modules they are for are loaded.
 */
export function addServe(program: Command): void {
  program
    .command('serve')
    .description('run the gateway; with nothing configured, on embedded stores and the sandbox')
    .option('--role <list>', 'what this process does: api, projector, worker', undefined)
    .action(async (options: { role?: string }) => {
      const config = loadConfig(undefined, { serving: true })
      boundHeapGrowth()
      keepCompiledCode()
      const { serve } = await import('./serve.ts')
      await serve(config, program.version() ?? '', options.role)
    })
}
