#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { note, watchOutput } from './cli/output.ts'
import { passOn, readVariable } from './config.ts'
import { keepNewObjectsYoung, mallocBounds, restartWithBoundedHeap } from './platform/v8-flags.ts'

/**
 * An idle handle must not keep the process alive longer than this: commands have closed theirs by
 * then.
 */
const LINGER_MS = 1_000

/** The version in package.json, which is one folder further up in a build. */
function readVersion(): string {
  for (const path of ['../package.json', '../../package.json']) {
    try {
      const text = readFileSync(fileURLToPath(new URL(path, import.meta.url)), 'utf8')
      const { version } = JSON.parse(text) as { readonly version: string }
      return version
    } catch {
      continue
    }
  }
  return 'unknown'
}

const args = process.argv.slice(2)
if (args[0] === 'serve') {
  for (const [name, value] of Object.entries(mallocBounds)) passOn(name, value)
  restartWithBoundedHeap(readVariable('NODE_OPTIONS'))
}
keepNewObjectsYoung()
watchOutput()
// A process that is replaced must not load it first: that takes ten times as long as starting again.
const { runCommandLine } = await import('./cli/command-line.ts')
void runCommandLine(readVersion(), args).finally(() => {
  setTimeout(() => {
    note(
      `tollgate: ended although something was open: ${process.getActiveResourcesInfo().join(', ')}`,
    )
    process.exit()
  }, LINGER_MS).unref()
})
