#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { DataDirError } from '../infra/embedded/data-dir.ts'
import { ChildFailedError } from '../infra/embedded/supervisor.ts'
import { ChannelFileError } from './app/channels/load.ts'
import { CommandError, note } from './cli/output.ts'
import { createProgram } from './cli/program.ts'
import { ConfigError } from './config.ts'
import { isDomainError } from './kernel/errors.ts'

/** The version in package.json, which stands one folder further up in a build. */
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

/** What an operator can act on is said in one message; anything else keeps its stack. */
function explain(error: unknown): string {
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')
    return `${error.message}: another program uses this port; set PORT to a free one`
  const known =
    error instanceof CommandError ||
    error instanceof ConfigError ||
    error instanceof ChannelFileError ||
    error instanceof DataDirError ||
    error instanceof ChildFailedError ||
    isDomainError(error)
  if (error instanceof Error) return known ? error.message : (error.stack ?? error.message)
  return String(error)
}

createProgram(readVersion())
  .parseAsync()
  .catch((error: unknown) => {
    note(`tollgate: ${explain(error)}`)
    process.exitCode = 1
  })
  .finally(() => {
    // Commands have let go of everything by now; an idle handle must not keep the process.
    setTimeout(() => process.exit(), 1_000).unref()
  })
