export * from './ports/provider.ts'
