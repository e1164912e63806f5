#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { runCommandLine } from './cli/command-line.ts'
import { keepNewObjectsYoung } from './kernel/v8-flags.ts'
import { note, watchOutput } from './cli/output.ts'

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

keepNewObjectsYoung()
watchOutput()
void runCommandLine(readVersion(), process.argv.slice(2)).finally(() => {
  setTimeout(() => {
    note(
      `tollgate: ended although something was open: ${process.getActiveResourcesInfo().join(', ')}`,
    )
    process.exit()
  }, LINGER_MS).unref()
})
