import Layout from './Layout.vue'
import './style.css'

export default { Layout }
