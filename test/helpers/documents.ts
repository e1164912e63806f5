import { readdirSync } from 'node:fs'
import { checkout } from './checkout.ts'

/** Every page of documentation: those of the repository and of `docs`, and the README of any folder. */
export const documentPaths: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  ...['docs', 'src', 'projections', 'infra', 'test'].flatMap((folder) =>
    readdirSync(new URL(`${folder}/`, checkout), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
      .map((name) => `${folder}/${name}`),
  ),
]

/** Folders with a README that says what they own, for a stranger who opens them first. */
export const rooms: readonly string[] = [
  'src/app/calls',
  'src/app/tasks',
  'src/app/spending',
  'src/app/audit',
  'src/app/queue',
  'src/eventlog',
  'projections/engine',
  'src/families',
  'src/api',
  'src/console',
  'src/app/support',
  'src/app/accounts',
]
