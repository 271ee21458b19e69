// The search index. It is a script and not data, since a page from a file system may load nothing else.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import MiniSearch from 'minisearch'
import { transformWithEsbuild } from 'vite'
import { docs } from './pages.mjs'

const options = { fields: ['title', 'page', 'text'], storeFields: ['title', 'page'] }

const entities = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

// text is what a reader sees of HTML.
const text = (html) => html.replace(/<button [^>]*>.*?<\/button>|<span class="lang">.*?<\/span>|<a class="header-anchor".*?<\/a>/g, '')
  .replace(/<[^>]*>/g, ' ').replace(/&(#?\w+);/g, (match, name) => entities[name] ?? ' ').replace(/[\s\u200b]+/g, ' ').trim()

export class Search {
  #index = new MiniSearch(options)

  // add adds the sections of a page, each of which begins with a heading.
  add(file, page, html) {
    const body = html.slice(html.indexOf('<div class="doc">'), html.indexOf('<footer>'))
    for (const section of body.split(/(?=<h[1-6] id=")/).slice(1)) {
      const [, level, id, title, rest] = section.match(/^<h(\d) id="([^"]*)"[^>]*>([^]*?)<\/h\1>([^]*)$/)
      this.#index.add({ id: level === '1' ? file : `${file}#${id}`, page, title: text(title), text: text(rest) })
    }
  }

  async write(file) {
    const library = readFileSync(join(docs, 'node_modules/minisearch/dist/umd/index.js'), 'utf8')
    const { code } = await transformWithEsbuild(library, 'minisearch.js', { minify: true })
    writeFileSync(file, `${code}window.searchIndex = MiniSearch.loadJSON(${JSON.stringify(JSON.stringify(this.#index))}, ${JSON.stringify(options)});\n`)
  }
}
